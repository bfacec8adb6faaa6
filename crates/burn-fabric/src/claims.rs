//! Which optimizer updates which parameter.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::module::ParamId;

/// The parameters of one module that optimizers hold.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<HashMap<ParamId, u64>>);

impl Claims {
    fn held(&self) -> MutexGuard<'_, HashMap<ParamId, u64>> {
        // Nothing panics while the lock is held; the map is whole in any case.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn holds(&self, id: ParamId) -> bool {
        self.held().contains_key(&id)
    }
}

/// An optimizer's hold on parameters of one module; dropping it lets go.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Arc<Claims>,
    optimizer: u64,
}

impl Claim {
    /// Take hold of `ids`, or of none of them where another optimizer has some, which come back.
    pub(crate) fn new(
        claims: &Arc<Claims>,
        optimizer: u64,
        ids: &[ParamId],
    ) -> Result<Self, Vec<ParamId>> {
        let mut held = claims.held();
        let taken = ids.iter().filter(|id| held.contains_key(id));
        let taken: Vec<ParamId> = taken.copied().collect();
        if !taken.is_empty() {
            return Err(taken);
        }
        held.extend(ids.iter().map(|id| (*id, optimizer)));
        drop(held);
        let claims = claims.clone();
        Ok(Self { claims, optimizer })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims
            .held()
            .retain(|_, optimizer| *optimizer != self.optimizer);
    }
}
