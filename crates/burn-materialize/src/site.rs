//! Where a traversal stands: the path of a leaf and the modules around it.

/// What a leaf of a module tree is to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    path: &'a str,
    container: &'a str,
}

impl<'a> Site<'a> {
    /// Names of fields and indices from the root, joined by dots: `blocks.0.norm.gamma`.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The type that declares the leaf: `Linear`.
    pub fn module(&self) -> &'a str {
        self.container
    }
}

/// The names from the root to where a traversal stands.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    path: String,
    containers: String,
    marks: Vec<Mark>,
}

#[derive(Debug)]
struct Mark {
    path: usize,
    containers: usize,
    /// Where the innermost declaring type stood before.
    declaring: (usize, usize),
}

impl Stack {
    pub(crate) fn enter(&mut self, name: &str, container: &str) {
        let declaring = self.marks.last().map_or((0, 0), |mark| mark.declaring);
        let mut mark = Mark {
            path: self.path.len(),
            containers: self.containers.len(),
            declaring,
        };
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

    pub(crate) fn exit(&mut self) {
        let mark = self.marks.pop().expect("every exit has its enter");
        self.path.truncate(mark.path);
        self.containers.truncate(mark.containers);
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn site(&self) -> Site<'_> {
        let (start, end) = self.marks.last().map_or((0, 0), |mark| mark.declaring);
        Site {
            path: &self.path,
            container: &self.containers[start..end],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_declaring_type_names_the_module() {
        let mut stack = Stack::default();
        stack.enter("layers", "Struct:Model");
        stack.enter("0", "Vec");
        assert_eq!(
            (stack.site().path(), stack.site().module()),
            ("layers.0", "Model")
        );
        stack.enter("weight", "Struct:Linear");
        assert_eq!(
            (stack.site().path(), stack.site().module()),
            ("layers.0.weight", "Linear")
        );
        stack.enter("lora", "Reparameterization");
        stack.enter("a", "Struct:Lora");
        assert_eq!(stack.site().path(), "layers.0.weight.lora.a");
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
