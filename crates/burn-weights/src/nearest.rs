//! What a name that is not there may have been meant to be.

/// The nearest name, in words for the end of a message.
pub fn hint<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let nearest = nearest(name, names);
    nearest.map_or_else(String::new, |nearest| {
        format!("; the nearest name is `{nearest}`")
    })
}

/// The name that is most like `name`, if any is.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // The measure favours equal beginnings; names of tensors agree at their ends as often.
    let reversed = |name: &str| name.chars().rev().collect::<String>();
    let from_end = reversed(name);
    let likeness = |other: &str| {
        let ends = strsim::jaro_winkler(&from_end, &reversed(other));
        strsim::jaro_winkler(name, other) + ends
    };
    // What is much longer is not alike, and a file may have a name of megabytes.
    let names = names.into_iter();
    let names = names.filter(|other| other.len() / 4 <= name.len() + 16);
    let names = names.map(|other| (likeness(other), other));
    let alike = names.filter(|(likeness, _)| *likeness > 1.2);
    alike
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, other)| other)
}
