//! What is known of a module that was set up, by it and by its optimizers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::parameters::Parameter;

/// One module's entry. The module changes it; whoever holds parameters of it looks them up.
#[derive(Debug)]
pub(crate) struct Registered {
    /// What tells it from every other module that was set up.
    pub(crate) identity: u64,
    parameters: Mutex<Arc<[Parameter]>>,
    /// How often the parameters, or their values, were replaced by others.
    changes: AtomicU64,
    /// Whether the module is out of its place: for as long as a step runs, or lost in one.
    taken: AtomicBool,
    /// The first paths of the parameters that optimizers hold, and which optimizer.
    claims: Mutex<HashMap<String, u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while a lock is held, and what is in it is whole in any case.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registered {
    pub(crate) fn new(parameters: Vec<Parameter>) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            parameters: Mutex::new(parameters.into()),
            changes: AtomicU64::new(0),
            taken: AtomicBool::new(false),
            claims: Mutex::default(),
        })
    }

    pub(crate) fn parameters(&self) -> Arc<[Parameter]> {
        lock(&self.parameters).clone()
    }

    pub(crate) fn replace_parameters(&self, parameters: Vec<Parameter>) {
        *lock(&self.parameters) = parameters.into();
        self.values_changed();
    }

    /// The parameters have other values than optimizers left.
    pub(crate) fn values_changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.taken.load(Ordering::Acquire)
    }

    pub(crate) fn set_taken(&self, taken: bool) {
        self.taken.store(taken, Ordering::Release);
    }

    /// Those of `parameters` that an optimizer holds.
    pub(crate) fn held(&self) -> Vec<Parameter> {
        let claims = lock(&self.claims);
        let parameters = self.parameters();
        let held = parameters
            .iter()
            .filter(|one| claims.contains_key(one.path()));
        held.cloned().collect()
    }
}

/// An optimizer's hold on parameters of one module; dropping it lets go.
#[derive(Debug)]
pub(crate) struct Claim {
    module: Arc<Registered>,
    optimizer: u64,
}

impl Claim {
    /// Take hold of `paths`, or of none of them where other optimizers have some, which come back.
    pub(crate) fn new(
        module: &Arc<Registered>,
        optimizer: u64,
        paths: &[&str],
    ) -> Result<Self, Vec<String>> {
        let mut claims = lock(&module.claims);
        let taken = paths.iter().filter(|path| claims.contains_key(**path));
        let taken: Vec<String> = taken.map(|path| (*path).to_owned()).collect();
        if !taken.is_empty() {
            return Err(taken);
        }
        claims.extend(paths.iter().map(|path| ((*path).to_owned(), optimizer)));
        drop(claims);
        let module = module.clone();
        Ok(Self { module, optimizer })
    }

    pub(crate) fn module(&self) -> &Arc<Registered> {
        &self.module
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let optimizer = self.optimizer;
        lock(&self.module.claims).retain(|_, holder| *holder != optimizer);
    }
}
