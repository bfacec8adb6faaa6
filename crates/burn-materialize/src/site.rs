//! Where a traversal stands: the path of a leaf and the modules around it.

use serde::{Deserialize, Serialize};

/// What a leaf of a module tree is to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A `Param<Tensor>`: an optimizer may update it.
    Parameter,
    /// A `RunningState`: updated by the forward pass.
    RunningState,
    /// A plain `Tensor`: computed once by the constructor.
    Buffer,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Parameter => "parameter",
            Self::RunningState => "running state",
            Self::Buffer => "buffer",
        })
    }
}

/// The place of one leaf, as Burn's own visitors name it.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    stack: &'a Stack,
}

impl<'a> Site<'a> {
    /// Names of fields and indices from the root, joined by dots: `blocks.0.norm.gamma`.
    pub fn path(&self) -> &'a str {
        &self.stack.path
    }

    /// The type that declares the leaf: `Linear`.
    pub fn module(&self) -> &'a str {
        let (start, end) = self
            .stack
            .marks
            .last()
            .map_or((0, 0), |mark| mark.declaring);
        &self.stack.containers[start..end]
    }

    /// The path of the module that declares the leaf: `blocks.0.norm`, and the empty path at the
    /// root. What a reparameterisation such as LoRA adds belongs to the module of the parameter.
    pub fn module_path(&self) -> &'a str {
        let marks = self.stack.marks.iter();
        let marks = marks.take_while(|mark| !mark.is_reparameterization);
        // Indices of lists, arrays and tuples declare nothing.
        let declares = |mark: &&Mark| mark.containers < mark.declaring.1;
        let end = marks.filter(declares).last().map_or(0, |mark| mark.path);
        &self.stack.path[..end]
    }

    /// Whether that type is burn-nn's, and not another of the same name. Within a module that derives
    /// nothing of ours this is not known, and false.
    pub fn is_of_burn(&self) -> bool {
        self.stack.marks.last().is_some_and(|mark| mark.is_of_burn)
    }

    /// Every name on the way, from the root, with the type that declares it: `None` for an index of
    /// a list, an array or a tuple.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Step<'a>> + use<'a> {
        let site = *self;
        (0..site.depth()).map(move |i| site.step(i))
    }

    /// How many names are on the way.
    pub(crate) fn depth(&self) -> usize {
        self.stack.marks.len()
    }

    /// One of the names on the way.
    pub(crate) fn step(&self, i: usize) -> Step<'a> {
        let stack = self.stack;
        let mark = &stack.marks[i];
        let end = stack
            .marks
            .get(i + 1)
            .map_or(stack.path.len(), |next| next.path);
        let declares = mark.containers < mark.declaring.1;
        let declaring = declares.then(|| &stack.containers[mark.declaring.0..mark.declaring.1]);
        let name = &stack.path[mark.path..end];
        Step {
            name: name.strip_prefix('.').unwrap_or(name),
            declaring,
            is_variant: mark.is_variant,
            torch: mark.torch,
        }
    }

    /// How many names were entered before one on the way, left ones included: no two entries have
    /// the same.
    pub(crate) fn entry(&self, i: usize) -> u64 {
        self.stack.marks[i].entry
    }
}

/// One name on the way to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step<'a> {
    pub(crate) name: &'a str,
    pub(crate) declaring: Option<&'a str>,
    /// Whether it is the variant of an enum, and no field.
    pub(crate) is_variant: bool,
    /// What `torch.nn` calls it, where that follows from the module's values.
    pub(crate) torch: Option<&'static str>,
}

/// The names from the root to where a traversal stands.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    path: String,
    containers: String,
    marks: Vec<Mark>,
    entered: u64,
}

#[derive(Debug)]
struct Mark {
    path: usize,
    containers: usize,
    /// Where the innermost declaring type stood before.
    declaring: (usize, usize),
    is_variant: bool,
    is_reparameterization: bool,
    is_of_burn: bool,
    torch: Option<&'static str>,
    entry: u64,
}

impl Stack {
    pub(crate) fn enter(&mut self, name: &str, container: &str) {
        let declaring = self.marks.last().map_or((0, 0), |mark| mark.declaring);
        let mut mark = Mark {
            path: self.path.len(),
            containers: self.containers.len(),
            declaring,
            is_variant: container.starts_with("Enum:"),
            is_reparameterization: container == "Reparameterization",
            is_of_burn: false,
            torch: None,
            entry: self.entered,
        };
        self.entered += 1;
        if !self.path.is_empty() && !name.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
        // Vec, Array and Tuple hold the leaves of the type that declares them.
        if let Some((_, declaring)) = container.split_once(':') {
            mark.declaring = (
                self.containers.len(),
                self.containers.len() + declaring.len(),
            );
            self.containers.push_str(declaring);
        } else if container == "Reparameterization" {
            mark.declaring = (self.containers.len(), self.containers.len() + name.len());
            self.containers.push_str(name);
        }
        self.marks.push(mark);
    }

    /// Say what `torch.nn` calls the field that was entered last.
    pub(crate) fn call(&mut self, torch: &'static str) {
        if let Some(mark) = self.marks.last_mut() {
            mark.torch = Some(torch);
        }
    }

    /// Say that the field that was entered last is of a type of burn-nn.
    pub(crate) fn of_burn(&mut self) {
        if let Some(mark) = self.marks.last_mut() {
            mark.is_of_burn = true;
        }
    }

    pub(crate) fn exit(&mut self) {
        let mark = self.marks.pop().expect("every exit has its enter");
        self.path.truncate(mark.path);
        self.containers.truncate(mark.containers);
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn site(&self) -> Site<'_> {
        Site { stack: self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_knows_who_declares_it() {
        let mut stack = Stack::default();
        for (name, container) in [
            ("layers", "Struct:Model"),
            ("0", "Vec"),
            ("norm", "Struct:Block"),
            ("Batch", "Enum:Normalization"),
            ("gamma", "Struct:BatchNorm"),
        ] {
            stack.enter(name, container);
        }
        let steps: Vec<_> = stack.site().steps().collect();
        let found: Vec<_> = steps
            .iter()
            .map(|step| (step.name, step.declaring, step.is_variant))
            .collect();
        assert_eq!(
            found,
            [
                ("layers", Some("Model"), false),
                ("0", None, false),
                ("norm", Some("Block"), false),
                ("Batch", Some("Normalization"), true),
                ("gamma", Some("BatchNorm"), false),
            ]
        );
    }

    #[test]
    fn the_innermost_declaring_type_names_the_module() {
        let mut stack = Stack::default();
        stack.enter("layers", "Struct:Model");
        stack.enter("0", "Vec");
        assert_eq!(
            (stack.site().path(), stack.site().module()),
            ("layers.0", "Model")
        );
        assert_eq!(stack.site().module_path(), "");
        stack.enter("weight", "Struct:Linear");
        assert_eq!(
            (stack.site().path(), stack.site().module()),
            ("layers.0.weight", "Linear")
        );
        assert_eq!(stack.site().module_path(), "layers.0");
        stack.enter("lora", "Reparameterization");
        stack.enter("a", "Struct:Lora");
        assert_eq!(stack.site().path(), "layers.0.weight.lora.a");
        assert_eq!(stack.site().module_path(), "layers.0");
        stack.exit();
        stack.exit();
        stack.exit();
        assert_eq!(
            (stack.site().path(), stack.site().module()),
            ("layers.0", "Model")
        );
        stack.exit();
        stack.exit();
        assert_eq!((stack.site().path(), stack.site().module()), ("", ""));
    }
}
