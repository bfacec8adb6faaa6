//! The dtype of tensors that name none. Burn fixes it for the process, so this is one test in a
//! program of its own.

mod support;

use burn::tensor::{DType, FloatDType};
use burn_fabric::prelude::*;
use support::{Mlp, builder, device};

const DTYPES: [FloatDType; 5] = [
    FloatDType::F16,
    FloatDType::BF16,
    FloatDType::Flex32,
    FloatDType::F64,
    FloatDType::F32,
];

#[test]
fn a_default_dtype_is_applied_refused_where_the_device_has_none_and_fixed_by_the_first_tensor() {
    // Looking fixes nothing.
    assert!(!Fabric::devices().0.is_empty());
    let build = |dtype| builder().float_dtype(dtype).build();
    let held = |dtype: &FloatDType| device().supports_dtype(*dtype);
    for dtype in DTYPES.into_iter().filter(|dtype| !held(dtype)) {
        let error = build(dtype).unwrap_err();
        let name = DType::from(dtype).name();
        assert!(
            matches!(error, FabricError::UnsupportedDType { dtype: found, .. } if found == dtype),
            "{error}"
        );
        assert!(error.to_string().contains(name), "{error}");
    }

    let mut held = DTYPES.into_iter().filter(held);
    let first = held.next().unwrap();
    let fabric = build(first).unwrap();
    let model = fabric.setup(fabric.init_module(Mlp::new).unwrap()).unwrap();
    assert_eq!(model.hidden.weight.val().dtype(), DType::from(first));
    // Once more is nothing new.
    build(first).unwrap();

    for dtype in held {
        let error = build(dtype).unwrap_err();
        match &error {
            FabricError::DefaultDType { wanted, fixed, .. } => {
                assert_eq!((*wanted, *fixed), (dtype, first));
            }
            error => panic!("{error}"),
        }
        assert!(
            error.to_string().contains("for the whole process"),
            "{error}"
        );
    }
}
