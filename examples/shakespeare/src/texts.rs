//! The texts, as numbers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why there is nothing to learn from.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The folder or a file of it cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not of ASCII alone.
    #[error(
        "{}: byte {offset} is {found:#04x}, which is no ASCII: this program knows one byte a symbol",
        path.display()
    )]
    NotAscii {
        /// The file.
        path: PathBuf,
        /// Where in it, from 0.
        offset: usize,
        /// What is there.
        found: u8,
    },
    /// One text is to be held out, and one is to be learnt from.
    #[error("{}: {found} files that end in `.txt`, and at least 2 are needed", path.display())]
    TooFew {
        /// The folder.
        path: PathBuf,
        /// How many there are.
        found: usize,
    },
    /// The texts to learn from, or those held out, have no window.
    #[error(
        "no text {part} is longer than a window of {context} characters: give a smaller `--context`"
    )]
    TooShort {
        /// Which texts.
        part: &'static str,
        /// Characters of a window.
        context: usize,
    },
    /// What sampling is to begin with has what the texts do not.
    #[error("`--prompt` has {found:?}, which is in none of the texts")]
    Prompt {
        /// The character.
        found: char,
    },
}

/// The symbols that texts are written in, in the order of their codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols(Vec<u8>);

impl Symbols {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The number of one, from 0.
    pub fn number(&self, symbol: char) -> Option<u8> {
        let code = u8::try_from(symbol).ok()?;
        Some(self.0.binary_search(&code).ok()? as u8)
    }

    /// The symbol of a number; none has one of [`count`](Symbols::count) or above.
    pub fn symbol(&self, number: usize) -> Option<char> {
        self.0.get(number).copied().map(char::from)
    }

    /// The numbers of a text.
    ///
    /// # Errors
    /// [`TextError::Prompt`].
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, TextError> {
        let number = |found| self.number(found).ok_or(TextError::Prompt { found });
        text.chars().map(number).collect()
    }
}

/// One play or poem.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its file's name without the ending.
    pub name: String,
    /// Its symbols' numbers.
    pub numbers: Arc<[u8]>,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Texts {
    /// What they are written in.
    pub symbols: Symbols,
    /// To learn from.
    pub train: Vec<Text>,
    /// To test on: the sixth of each ten in the order of their names; of less than six, the last.
    pub held_out: Vec<Text>,
}

impl Texts {
    /// Read the files in `folder` that end in `.txt`.
    ///
    /// # Errors
    /// [`TextError::File`], [`TextError::NotAscii`], [`TextError::TooFew`].
    pub fn read(folder: &Path) -> Result<Self, TextError> {
        let failed = |path: &Path, source| TextError::File {
            path: path.to_owned(),
            source,
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
            let path = entry.map_err(|error| failed(folder, error))?.path();
            if path.extension().is_some_and(|ending| ending == "txt") {
                paths.push(path);
            }
        }
        paths.sort();
        if paths.len() < 2 {
            return Err(TextError::TooFew {
                path: folder.to_owned(),
                found: paths.len(),
            });
        }
        let mut contents = Vec::new();
        let mut codes = BTreeSet::new();
        for path in &paths {
            let content = fs::read(path).map_err(|error| failed(path, error))?;
            if let Some(offset) = content.iter().position(|byte| !byte.is_ascii()) {
                return Err(TextError::NotAscii {
                    path: path.clone(),
                    offset,
                    found: content[offset],
                });
            }
            codes.extend(content.iter().copied());
            contents.push(content);
        }
        let symbols = Symbols(codes.into_iter().collect());
        let numbers = |content: &Vec<u8>| {
            let known = content
                .iter()
                .filter_map(|code| symbols.number(char::from(*code)));
            known.collect()
        };
        let texts = paths.iter().zip(&contents).map(|(path, content)| Text {
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            numbers: numbers(content),
        });
        let held_out = (paths.len() - 1).min(5);
        let (mut train, mut out) = (Vec::new(), Vec::new());
        for (index, text) in texts.enumerate() {
            match index % 10 == held_out {
                true => out.push(text),
                false => train.push(text),
            }
        }
        Ok(Self {
            symbols,
            train,
            held_out: out,
        })
    }
}

/// How many symbols some texts have.
pub fn length(texts: &[Text]) -> usize {
    texts.iter().map(|text| text.numbers.len()).sum()
}
