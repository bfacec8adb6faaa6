//! Recording a constructor.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use burn::backend::DispatchDevice;
use burn::backend::ir::{InitOperationIr, OperationIr, TensorIr};
use burn::tensor::{DType, Device, TensorData};
use burn_capture::{CaptureChannel, CaptureClient, CaptureError, TensorId};
use burn_router::{RouterClient, get_client};

use crate::device::{DefaultDTypes, MetaDevice};
use crate::error::{RecipeError, RecordError};
use crate::recipe::Recipe;

/// Run `build` on a meta device and record how every tensor it makes is made.
///
/// Allocates nothing for the tensors. May be called from many threads at once, and inside another
/// recording. A panic of `build` is passed on and leaves the meta device usable.
///
/// # Errors
/// As [`MetaDevice::record`] and [`MetaDevice::new`].
pub fn record<T>(
    dtypes: DefaultDTypes,
    build: impl FnOnce(&Device) -> T,
) -> Result<(T, Recording), RecordError> {
    MetaDevice::new(dtypes)?.record(build)
}

impl MetaDevice {
    /// Run `build` on this device and record how every tensor it makes is made. Waits while another
    /// thread records here.
    ///
    /// # Errors
    /// [`RecordError::ValueRead`] when `build` reads values that do not exist yet,
    /// [`RecordError::ClosedScope`] when it computes with a tensor of an earlier recording,
    /// [`RecordError::Nested`] inside a recording on this very device.
    pub fn record<T>(
        &self,
        build: impl FnOnce(&Device) -> T,
    ) -> Result<(T, Recording), RecordError> {
        let Captured {
            outcome,
            operations,
            client,
        } = self.capture(|device, _| build(device))?;
        match outcome {
            Ok(value) => Ok((value, Recording::new(operations, client, self.dtypes()))),
            Err(panic) => Err(recognise(&*panic).unwrap_or_else(|| resume_unwind(panic))),
        }
    }

    /// Run `build` in a scope of its own. What was recorded before a panic is kept.
    pub(crate) fn capture<T>(
        &self,
        build: impl FnOnce(&Device, &CaptureClient) -> T,
    ) -> Result<Captured<T>, RecordError> {
        let turn = self.enter()?;
        let device = self.device();
        let mut built = None;
        let captured = device.capture_scope(|scope| {
            self.configure();
            let client = capture_client(device);
            // Caught here, so that the scope completes and gives its operations.
            let outcome = catch_unwind(AssertUnwindSafe(|| build(device, &client)));
            built = Some((outcome, client));
            scope.complete([], [])
        });
        drop(turn);
        let (outcome, client) = built.expect("a scope that completes has run its closure");
        let operations = match captured {
            // What comes back beside the graph are copies of the constants; the session has them.
            Ok(captured) => captured.graph.operations,
            // A panic came first, and says more.
            Err(_) if outcome.is_err() => Vec::new(),
            Err(error @ CaptureError::UndeclaredInput { .. }) => {
                return Err(RecordError::ClosedScope {
                    message: error.to_string(),
                });
            }
            Err(error) => unreachable!("whoever has its turn opens the only scope: {error}"),
        };
        Ok(Captured {
            outcome,
            operations,
            client,
        })
    }
}

/// What a scope leaves.
pub(crate) struct Captured<T> {
    /// What its closure returned, or its panic.
    pub(crate) outcome: std::thread::Result<T>,
    /// What was recorded, also before a panic.
    pub(crate) operations: Vec<OperationIr>,
    /// The closed session.
    pub(crate) client: CaptureClient,
}

/// The user's mistakes that Burn reports by panicking, told by Burn's text.
pub(crate) fn recognise(panic: &(dyn std::any::Any + Send)) -> Option<RecordError> {
    let message = panic_text(panic)?;
    if message.contains("has no concrete value") || message.contains("has no initialized value") {
        Some(RecordError::ValueRead { message })
    } else if message.contains("capture scope is already complete") || mixes_scopes(&message) {
        Some(RecordError::ClosedScope { message })
    } else {
        None
    }
}

/// Burn's own check of devices comes first where the earlier scope was on another meta device.
pub(crate) fn mixes_scopes(message: &str) -> bool {
    message.contains("not on the same device") && message.matches("Capture(").count() == 2
}

/// The text of a panic that was caught, where it has one.
///
/// ```
/// use burn_meta::panic_text;
///
/// let panic = std::panic::catch_unwind(|| panic!("no such layer")).unwrap_err();
/// assert_eq!(panic_text(&*panic).as_deref(), Some("no such layer"));
/// ```
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> Option<String> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .map(str::to_owned)
}

fn capture_client(device: &Device) -> CaptureClient {
    match device.as_dispatch() {
        DispatchDevice::Capture(device) => get_client::<CaptureChannel>(device),
        other => unreachable!("the pool lends capture devices only, not {other:?}"),
    }
}

/// How every tensor of one or more recorded constructors is made: operations and constants.
///
/// Cloning shares. Constants (data the constructor supplied) are held once, by the closed session
/// that the tensors' handles also refer to; they are given back when the last handle and the
/// last clone of the recording are gone.
#[derive(Clone, Default)]
pub struct Recording {
    scopes: Vec<Arc<Scope>>,
}

struct Scope {
    operations: Vec<OperationIr>,
    /// Which operation makes a tensor.
    producers: HashMap<TensorId, usize>,
    /// What its tensors have that name no dtype.
    dtypes: DefaultDTypes,
    /// Keeps the session, and so its constants, alive and readable.
    client: CaptureClient,
}

impl Recording {
    fn new(operations: Vec<OperationIr>, client: CaptureClient, dtypes: DefaultDTypes) -> Self {
        let mut producers = HashMap::with_capacity(operations.len());
        for (index, operation) in operations.iter().enumerate() {
            producers.extend(operation.outputs().map(|tensor| (tensor.id, index)));
        }
        Self {
            scopes: vec![Arc::new(Scope {
                operations,
                producers,
                dtypes,
                client,
            })],
        }
    }

    /// Add what another scope recorded; tensor ids are unique in the process.
    pub fn extend(&mut self, other: Recording) {
        self.scopes.extend(other.scopes);
    }

    /// How many operations were recorded.
    pub fn operations(&self) -> usize {
        self.scopes.iter().map(|scope| scope.operations.len()).sum()
    }

    /// How `tensor` is made: the operations it depends on, in order.
    ///
    /// # Errors
    /// [`RecipeError::Unrecorded`] where this recording does not hold the tensor,
    /// [`RecipeError::Unsupported`] where it depends on an operation that cannot be evaluated.
    pub fn recipe(&self, tensor: TensorId) -> Result<Recipe<'_>, RecipeError> {
        Recipe::slice(self, tensor)
    }

    /// The operation that makes `tensor`, with its scope and its place there.
    pub(crate) fn producer(&self, tensor: TensorId) -> Option<(usize, usize, &OperationIr)> {
        self.scopes
            .iter()
            .enumerate()
            .find_map(|(scope, recorded)| {
                let index = *recorded.producers.get(&tensor)?;
                Some((scope, index, &recorded.operations[index]))
            })
    }

    pub(crate) fn operation(&self, scope: usize, index: usize) -> &OperationIr {
        &self.scopes[scope].operations[index]
    }

    /// The default float dtype of a scope, where it is one of half precision.
    pub(crate) fn half_default(&self, scope: usize) -> Option<DType> {
        match self.scopes[scope].dtypes.float.into() {
            half @ (DType::F16 | DType::BF16) => Some(half),
            _ => None,
        }
    }

    /// A copy of the host data behind a constant.
    pub(crate) fn constant(&self, scope: usize, tensor: &TensorIr) -> TensorData {
        let read = self.scopes[scope].client.read_tensor_async(tensor.clone());
        burn::tensor::read_sync(read)
            .unwrap_or_else(|error| unreachable!("an Init operation always has data: {error}"))
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("operations", &self.operations())
            .finish()
    }
}

/// The constant an `Init` operation declares, if it is one.
pub(crate) fn constant_of(operation: &OperationIr) -> Option<&TensorIr> {
    match operation {
        OperationIr::Init(InitOperationIr { out }) => Some(out),
        _ => None,
    }
}
