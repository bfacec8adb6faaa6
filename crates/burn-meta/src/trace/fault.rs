//! Mistakes in a pass that Burn reports by panicking.

/// What made Burn stop a pass, told by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It reads values, and there are none.
    ValueRead,
    /// Shapes that do not fit.
    Shape,
    /// Dtypes that do not go together.
    DType,
    /// A tensor of another device, or of another recording.
    OtherDevice,
    /// A tensor that autodiff tracks is sent to the device it is on.
    MovedWithAutodiff,
    /// It takes a gradient, or a tensor out of autodiff, by itself.
    Autodiff,
    /// The pass's own.
    Other,
}

impl Fault {
    pub(super) fn of(message: &str) -> Self {
        const TEXTS: &[(&str, Fault)] = &[
            ("has no concrete value", Fault::ValueRead),
            ("has no initialized value", Fault::ValueRead),
            ("=== Tensor Operation Error ===", Fault::Shape),
            ("assert_shape!(", Fault::Shape),
            ("DTypeMismatch", Fault::DType),
            ("not on the same device", Fault::OtherDevice),
            ("capture scope is already complete", Fault::OtherDevice),
            ("not on the same backend", Fault::OtherDevice),
            ("is on the wrong backend", Fault::OtherDevice),
            (
                "must run inside CaptureDevice::capture_scope",
                Fault::OtherDevice,
            ),
            (
                "Cannot move a tensor to a capture device with autodiff",
                Fault::MovedWithAutodiff,
            ),
            ("Capture tensors do not support autodiff", Fault::Autodiff),
        ];
        let known = TEXTS.iter().find(|(text, _)| message.contains(text));
        known.map_or(Self::Other, |&(_, fault)| fault)
    }
}
