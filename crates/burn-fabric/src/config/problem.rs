//! What can be wrong with a setting.

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingProblem {
    /// There is no such setting.
    #[error("there is no setting `{setting}`; the nearest is `{nearest}`")]
    Unknown {
        /// As it was written, with where.
        setting: String,
        /// The known one that comes nearest, written in the same place.
        nearest: String,
    },
    /// Its value is of another kind.
    #[error("`{setting}` does not take {found}: {message}")]
    Kind {
        /// The setting, with where it was written.
        setting: String,
        /// Its value.
        found: String,
        /// What it takes.
        message: String,
    },
    /// Its value is out of range.
    #[error("`{setting}` is {found}, and must be {expected}")]
    OutOfRange {
        /// The setting, with where it was written.
        setting: String,
        /// Its value.
        found: String,
        /// The values it can have.
        expected: &'static str,
    },
    /// Two settings exclude each other.
    #[error("`{first}` and `{second}` exclude each other: remove one")]
    Exclusive {
        /// One, with where it was written.
        first: String,
        /// The other, with where it was written.
        second: String,
    },
    /// The optimizer itself refuses its settings.
    #[error("{place}{message}")]
    Rejected {
        /// Which group it is of.
        place: String,
        /// The optimizer's own text.
        message: String,
    },
}

impl SettingProblem {
    pub(crate) fn out_of_range(
        setting: &str,
        found: impl std::fmt::Display,
        expected: &'static str,
    ) -> Self {
        Self::OutOfRange {
            setting: setting.to_owned(),
            found: found.to_string(),
            expected,
        }
    }
}
