//! The numbers of the curve: units, and what a picture can show of many operations.

/// A binary unit of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    bytes: f64,
    name: &'static str,
}

impl Unit {
    /// That of so many bytes.
    pub fn of(bytes: u64) -> Self {
        const NAMES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let power = bytes.max(1).ilog(1024) as usize;
        let power = power.min(NAMES.len() - 1);
        Self {
            bytes: 1024_f64.powi(power as i32),
            name: NAMES[power],
        }
    }

    /// So many bytes in it.
    pub fn of_bytes(self, bytes: u64) -> f64 {
        bytes as f64 / self.bytes
    }

    /// `1.5 GiB`; nothing for a part of a byte.
    pub fn label(self, value: f64, number: impl Fn(&f64) -> String) -> String {
        match self.bytes == 1.0 && value.fract() != 0.0 {
            true => String::new(),
            false => format!("{} {}", number(&value), self.name),
        }
    }
}

/// A step of the curve: from, to, bytes.
pub type Step = (f64, f64, u64);

/// Neighbours of one height as one step; of more operations than columns, the most in each column.
pub fn kept(during: &[u64], columns: usize) -> Vec<Step> {
    let columns = during.len().min(columns.max(1));
    let mut steps: Vec<Step> = Vec::new();
    for column in 0..columns {
        let place = |column: usize| column * during.len() / columns;
        let (from, to) = (place(column), place(column + 1));
        let most = during[from..to].iter().max().copied().unwrap_or(0);
        match steps.last_mut() {
            Some((_, end, bytes)) if *bytes == most => *end = to as f64,
            _ => steps.push((from as f64, to as f64, most)),
        }
    }
    steps
}

/// The corners of the curve, from left to right.
pub fn corners(steps: &[Step], height: impl Fn(u64) -> f64) -> Vec<(f64, f64)> {
    let corners = steps.iter().flat_map(|&(from, to, bytes)| {
        let height = height(bytes);
        [(from, height), (to, height)]
    });
    corners.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_that_reads_best() {
        let name = |bytes| Unit::of(bytes).name;
        assert_eq!(
            [0, 1023, 1024, 1 << 30, u64::MAX].map(name),
            ["B", "B", "KiB", "GiB", "PiB"]
        );
        assert_eq!(Unit::of(1536).of_bytes(1536), 1.5);
        let number = |value: &f64| value.to_string();
        assert_eq!(Unit::of(1536).label(1.5, number), "1.5 KiB");
        assert_eq!(Unit::of(1).label(0.5, number), "");
    }

    #[test]
    fn each_column_keeps_its_most_and_neighbours_are_joined() {
        assert_eq!(kept(&[], 10), []);
        assert_eq!(kept(&[7], 10), [(0.0, 1.0, 7)]);
        assert_eq!(kept(&[1, 1, 2], 10), [(0.0, 2.0, 1), (2.0, 3.0, 2)]);
        let mut many = vec![3; 100_000];
        many[54_321] = 9;
        let steps = kept(&many, 1000);
        let most = steps.iter().max_by_key(|(_, _, bytes)| *bytes);
        assert_eq!(most, Some(&(54_300.0, 54_400.0, 9)));
        assert_eq!(steps.len(), 3);
        assert_eq!(steps.last().map(|(_, to, _)| *to), Some(100_000.0));
        assert_eq!(
            corners(&[(0.0, 1.0, 7)], |bytes| bytes as f64),
            [(0.0, 7.0), (1.0, 7.0)]
        );
    }
}
