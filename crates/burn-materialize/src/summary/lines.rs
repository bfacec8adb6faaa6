//! Which lines a summary has.

use burn::tensor::DType;
use burn_meta::Cost;
use serde::Serialize;

use super::Summary;
use super::tree::Tree;
use crate::inventory::State;
use crate::site::Role;

/// One line of a [`Summary`]: a module, a tensor, or a run of those that are equal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryLine {
    /// Names from the root, joined by dots; empty for the root. Of a run, that of the first.
    pub path: String,
    /// What it is called below the line that holds it: `query`, `layers.0 … layers.79 (80 x)`.
    pub name: String,
    /// The path of the last of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// How many there are in the run; 1 for what does not repeat.
    pub times: usize,
    /// How many lines it stands below the root's.
    pub level: usize,
    /// The type of a module; none for a tensor, and for a list of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// What a tensor is; none for a module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<SummaryTensor>,
    /// How many elements the parameters have, ties at their first path only. Of a run, those of
    /// one.
    pub parameters: u64,
    /// How many bytes parameters, running states and buffers take.
    pub bytes: u64,
    /// After a trace, what a module costs and gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<SummaryCost>,
}

/// One tensor of a summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryTensor {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its dtype; unknown while lazy.
    pub dtype: Option<DType>,
    /// Parameter, running state or buffer.
    pub role: Role,
    /// Whether it exists.
    pub state: State,
    /// The first path of the tie, where this is a later one.
    pub tied_to: Option<String>,
}

/// What a module and all in it cost in a traced pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SummaryCost {
    /// How many operations.
    pub operations: usize,
    /// What the forward pass costs.
    pub forward: Cost,
    /// What the backward pass costs.
    pub backward: Cost,
    /// How many bytes the forward operations make.
    pub activations: u64,
    /// The shapes of what it gives; none where no operation reads anything of it.
    pub outputs: Vec<Vec<usize>>,
}

/// A line, as places in the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) times: usize,
    pub(super) level: usize,
    /// What the names of the line begin below.
    pub(super) below: usize,
}

impl Summary {
    /// The lines that its `Display` has, with everything on them.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn_materialize::Meta;
    ///
    /// let meta = Meta::build(|device| LinearConfig::new(64, 10).init(device))?;
    /// let paths: Vec<String> = meta.summary().lines().into_iter().map(|line| line.path).collect();
    /// assert_eq!(paths, ["", "weight", "bias"]);
    /// # Ok::<(), burn_materialize::MaterializeError>(())
    /// ```
    pub fn lines(&self) -> Vec<SummaryLine> {
        let lines = self.places(self.folded, self.depth);
        lines.into_iter().map(|line| self.line(line)).collect()
    }

    fn line(&self, line: Line) -> SummaryLine {
        let Line {
            first,
            last,
            times,
            level,
            ..
        } = line;
        let tree = &self.tree;
        let sums = tree.sums(first);
        let tensor = tree.tensor(first).map(|tensor| SummaryTensor {
            shape: tensor.kind.shape.to_vec(),
            dtype: tensor.kind.dtype,
            role: tensor.kind.role,
            state: tensor.kind.state,
            tied_to: tensor.tied_to.map(|first| tree.path(first)),
        });
        let cost = self.costs.as_ref().filter(|_| tensor.is_none());
        SummaryLine {
            path: tree.path(first),
            name: label(tree, line),
            last: (times > 1).then(|| tree.path(last)),
            times,
            level,
            module: tree.module(first).map(str::to_owned),
            parameters: sums.parameters,
            bytes: sums.bytes,
            cost: cost.map(|costs| costs.under(first)),
            tensor,
        }
    }

    /// The lines of everything.
    pub(super) fn all_lines(&self) -> impl Iterator<Item = SummaryLine> {
        let lines = self.places(false, None);
        lines.into_iter().map(|line| self.line(line))
    }

    /// The lines, folded and to a depth.
    pub(super) fn places(&self, folded: bool, depth: Option<usize>) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.tree.paths() == 0 {
            return lines;
        }
        let root = Line {
            first: 0,
            last: 0,
            times: 1,
            level: 0,
            below: 0,
        };
        lines.push(root);
        let mut walk = Walk {
            summary: self,
            folded,
            depth: depth.unwrap_or(usize::MAX),
            lines,
        };
        walk.inside(0, 0, 1);
        walk.lines
    }

    /// Whether one block says all that the other would.
    fn is_repeated(&self, first: usize, other: usize) -> bool {
        let costs = self.costs.as_ref();
        self.tree.holds_same(first, other)
            && costs.is_none_or(|costs| {
                let nodes = self.tree.stretch(first).zip(self.tree.stretch(other));
                nodes.into_iter().all(|(a, b)| costs.is_same(a, b))
            })
    }
}

struct Walk<'s> {
    summary: &'s Summary,
    folded: bool,
    depth: usize,
    lines: Vec<Line>,
}

impl Walk<'_> {
    /// Add the lines of what `node` holds; their names begin below `below`.
    fn inside(&mut self, node: usize, below: usize, level: usize) {
        if level > self.depth {
            return;
        }
        let tree = &self.summary.tree;
        let mut children = tree.children(node).peekable();
        while let Some(first) = children.next() {
            let (mut last, mut times) = (first, 1);
            while self.folded
                && let Some(&next) = children.peek()
                && follows(tree.name(last), tree.name(next))
                && self.summary.is_repeated(first, next)
            {
                (last, times) = (next, times + 1);
                children.next();
            }
            // A list says nothing that its elements' names do not.
            if times == 1 && tree.is_container(first) {
                self.inside(first, below, level);
                continue;
            }
            self.lines.push(Line {
                first,
                last,
                times,
                level,
                below,
            });
            self.inside(first, first, level + 1);
        }
    }
}

/// Whether a name is another one, counted up.
fn follows(name: &str, next: &str) -> bool {
    let number = |name: &str| -> Option<(usize, u64)> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let start = name.len() - digits;
        Some((start, name[start..].parse().ok()?))
    };
    match (number(name), number(next)) {
        (Some((start, number)), Some((of_next, after))) => {
            start == of_next
                && number.checked_add(1) == Some(after)
                && name[..start] == next[..start]
        }
        _ => false,
    }
}

/// The shortest wording of a run: `layers.0…79 (80 x)`.
pub(super) fn short_label(tree: &Tree, line: Line) -> String {
    let last = tree.name(line.last);
    let number = last.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let first = tree.path_from(line.below, line.first);
    match line.times {
        1 => first,
        times => format!("{first}…{number} ({times} x)"),
    }
}

/// The name of a line: `query`, `layers.0 … layers.79 (80 x)`.
pub(super) fn label(tree: &Tree, line: Line) -> String {
    let first = tree.path_from(line.below, line.first);
    match line.times {
        1 => first,
        times => {
            let last = tree.path_from(line.below, line.last);
            format!("{first} … {last} ({times} x)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::follows;

    #[test]
    fn names_count_up() {
        assert!(follows("0", "1") && follows("9", "10") && follows("conv1", "conv2"));
        assert!(follows("größe9", "größe10"));
        assert!(!follows("1", "3") && !follows("1", "1") && !follows("2", "1"));
        assert!(!follows("query", "key") && !follows("conv", "conv1") && !follows("a1", "b2"));
        assert!(!follows("18446744073709551615", "0") && !follows("", ""));
        assert!(!follows("99999999999999999999", "99999999999999999999"));
    }
}
