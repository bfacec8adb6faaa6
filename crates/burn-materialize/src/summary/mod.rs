//! A module as a table.

mod costs;
mod display;
mod fit;
mod lines;
mod serial;
mod tree;

pub use lines::{SummaryCost, SummaryLine, SummaryTensor};

use std::sync::Arc;

use crate::Materialize;
use crate::trace::Trace;

use self::costs::Costs;
use self::tree::Sums;
pub(crate) use self::tree::{Tree, TreeBuilder};

/// The modules and tensors of a module as an indented table, with totals.
///
/// A line is a module (`query: Linear`) or a tensor (`weight`), below the module that holds it; the
/// numbers of a module are the sums of all that it holds. A tree and no list of paths, since the end
/// of a path is what differs and a narrow terminal would cut it off.
///
/// - **Blocks that repeat** are shown once: `layers.0 … layers.79 (80 x)`, with the numbers of one of
///   them; blocks within blocks as well. They follow on each other under names that count up, and
///   hold the same: names, types, shapes, dtypes, states, ties, and after a trace what they cost and
///   give. [`unfolded`](Summary::unfolded) shows all. The totals are always over everything.
/// - **A tensor at two paths** (a tie) counts at the first, and is `= first.path` at the others.
/// - **After a trace** ([`traced`](Summary::traced)) outputs, FLOPs and activations take the place of
///   dtypes, bytes and states.
/// - **It fits** the terminal, or 100 columns where the output is none, or what
///   [`width`](Summary::width) says: long names and shapes lose their middle (`…`), never a number. A
///   table that would need cells under eight columns is wider.
///
/// ```
/// use burn::module::Module;
/// use burn::nn::{Linear, LinearConfig};
/// use burn_materialize::{Materialize, Meta, ResetParameters};
///
/// #[derive(Module, Materialize, ResetParameters, Debug)]
/// struct Net {
///     layers: Vec<Linear>,
///     head: Linear,
/// }
///
/// let meta = Meta::build(|device| Net {
///     layers: (0..80).map(|_| LinearConfig::new(512, 512).init(device)).collect(),
///     head: LinearConfig::new(512, 10).init(device),
/// })?;
/// let table = meta.summary().to_string();
/// assert!(table.contains("layers.0 … layers.79 (80 x): Linear"));
/// assert!(table.contains("162 tensors"));
/// assert!(meta.summary().unfolded().to_string().contains("layers.43: Linear"));
/// # Ok::<(), burn_materialize::MaterializeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    tree: Arc<Tree>,
    /// Of everything.
    sums: Sums,
    costs: Option<Costs>,
    folded: bool,
    depth: Option<usize>,
    width: Option<usize>,
}

impl Summary {
    /// Summarise a module, meta, lazy or real. Reads shapes only.
    pub fn of<M: Materialize>(module: &M) -> Self {
        Self::new(Arc::new(Tree::of(module)))
    }

    pub(crate) fn new(tree: Arc<Tree>) -> Self {
        Self {
            sums: tree.sums(0),
            tree,
            costs: None,
            folded: true,
            depth: None,
            width: None,
        }
    }

    /// Show what each module costs in a traced pass of this module, and what it gives:
    ///
    /// - **Output**: the shape of what the last forward operation gives that reads a parameter, a
    ///   running state or a buffer of the module, or of one in it, together with other values; of
    ///   the whole module, what the pass returned. What a module does after that without reading
    ///   anything of its own, a trace cannot tell from what is done with its output: a block that
    ///   ends in a reshape or a pooling shows the shape before it. Burn's recurrent layers write their
    ///   steps into one tensor, and show that one (with the batch first, also where it is not).
    ///   Of a module that ran several times it is the last output.
    /// - **FLOPs**, forward and, of a training pass, backward; all runs of a module together.
    /// - **Activations**: the bytes that its forward operations make, whether they are kept or not.
    ///
    /// Operations are attributed as in [`Trace::operations`]. Those of a module that is not in the
    /// summary count for the next one around it that is.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::Tensor;
    /// use burn_materialize::Meta;
    ///
    /// let meta = Meta::build(|device| LinearConfig::new(512, 10).init(device))?;
    /// let trace = meta.trace(|linear, device| {
    ///     linear.forward(Tensor::<2>::zeros([32, 512], device))
    /// })?;
    /// let table = meta.summary().traced(&trace).to_string();
    /// assert!(table.contains("[32, 10]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn traced(mut self, trace: &Trace) -> Self {
        self.costs = Some(Costs::new(&self.tree, trace));
        self
    }

    /// Show each of the blocks that repeat.
    pub fn unfolded(mut self) -> Self {
        self.folded = false;
        self
    }

    /// Show no more than so many levels of modules below the whole, which is level 0; those of the
    /// last are one line each, with the sums of what they hold. Lists and tuples are no level.
    pub fn depth(mut self, levels: usize) -> Self {
        self.depth = Some(levels);
        self
    }

    /// Fit so many columns, wherever it is written.
    pub fn width(mut self, columns: usize) -> Self {
        self.width = Some(columns);
        self
    }

    /// How many tensors, ties counted once.
    pub fn tensors(&self) -> usize {
        self.sums.tensors
    }

    /// How many elements its parameters have, ties counted once. Burn's own `num_params` also counts
    /// running states, and a tie at each path.
    pub fn parameters(&self) -> usize {
        self.sums.parameters as usize
    }

    /// How many elements its running states and buffers have.
    pub fn buffers(&self) -> usize {
        self.sums.buffers as usize
    }

    /// How many bytes all its tensors take, ties counted once. A lazy parameter, whose dtype is not
    /// known yet, counts with the default float dtype of its device.
    pub fn bytes(&self) -> usize {
        self.sums.bytes as usize
    }

    /// How many of those bytes are allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.sums.allocated_bytes as usize
    }
}
