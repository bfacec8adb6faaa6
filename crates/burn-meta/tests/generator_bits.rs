//! The generator's bits: what they are, and what they do not depend on.
//!
//! To write the golden file anew, which changes the initial weights of every user, run these tests
//! with the environment variable `BLESS_GOLDEN=1`.

use std::{fmt::Write, fs, path::Path};

use burn::tensor::{BoolStore, DType, Distribution, Shape, TensorData, quantization::QuantScheme};
use burn_meta::generator::{DrawKey, GeneratorError, InstructionSet, check, fill, fill_with};
use rayon::ThreadPoolBuilder;
use sha2::{Digest, Sha256};

const DTYPES: [DType; 13] = [
    DType::F32,
    DType::Flex32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

const DISTRIBUTIONS: [Distribution; 5] = [
    Distribution::Default,
    Distribution::Uniform(3.25, 101.5),
    Distribution::Normal(60.0, 7.5),
    // Beyond the range of the 8-bit types and below that of the unsigned ones.
    Distribution::Normal(-0.125, 1e4),
    Distribution::Bernoulli(0.3),
];

/// Every distribution with every dtype.
fn all() -> impl Iterator<Item = (Distribution, DType)> {
    DTYPES
        .into_iter()
        .flat_map(|dtype| DISTRIBUTIONS.map(|distribution| (distribution, dtype)))
}

fn draw(distribution: Distribution, dtype: DType, n: usize) -> TensorData {
    fill(
        &DrawKey::new(11, "bits", 0),
        distribution,
        dtype,
        Shape::new([n]),
    )
    .unwrap()
}

/// The bits of each element, whatever the byte order of the machine.
fn bits(data: &TensorData) -> Vec<u64> {
    let elements = data.as_bytes().chunks_exact(data.dtype().size());
    let bits = elements.map(|element| {
        let byte = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if cfg!(target_endian = "little") {
            element.iter().rev().fold(0, byte)
        } else {
            element.iter().fold(0, byte)
        }
    });
    bits.collect()
}

/// A line of the golden file: the draw, the first values' bits, and the digest of all values.
fn golden_line(
    (seed, path, draw): (u64, &str, u32),
    distribution: Distribution,
    dtype: DType,
    n: usize,
) -> String {
    let data = fill(
        &DrawKey::new(seed, path, draw),
        distribution,
        dtype,
        Shape::new([n]),
    )
    .unwrap();
    let (size, bits) = (dtype.size(), bits(&data));
    let mut digest = Sha256::new();
    for element in &bits {
        digest.update(&element.to_le_bytes()[..size]);
    }
    let mut line = format!(
        "{seed} {path:?} {draw} {distribution:?} {} {n}:",
        dtype.name()
    );
    for element in bits.iter().take(4) {
        write!(line, " {element:0width$x}", width = 2 * size).unwrap();
    }
    write!(line, " sha256 {:x}", digest.finalize()).unwrap();
    line
}

#[test]
fn bits_equal_the_golden_file() {
    let mut lines: Vec<String> = all()
        .map(|(distribution, dtype)| golden_line((42, "w", 0), distribution, dtype, 70_001))
        .collect();
    for (seed, path, draw) in [
        (0, "", 0),
        (u64::MAX, "encoder.layer.0.weight", 0),
        (7, "größe", 1),
        (7, "x", u32::MAX),
    ] {
        for n in [1, 64, 1_000_003] {
            let normal = Distribution::Normal(0.0, 0.02);
            lines.push(golden_line((seed, path, draw), normal, DType::F32, n));
            let uniform = Distribution::Uniform(-0.05, 0.05);
            lines.push(golden_line((seed, path, draw), uniform, DType::F32, n));
        }
    }
    let found = lines.join("\n") + "\n";

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/generator.txt");
    if std::env::var_os("BLESS_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(&path, &found).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    for (found, golden) in found.lines().zip(golden.lines()) {
        assert_eq!(found, golden, "the bits of a draw have changed");
    }
    assert_eq!(found.lines().count(), golden.lines().count());
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    let key = DrawKey::new(12, "instruction sets", 0);
    for (distribution, dtype) in all() {
        for n in [0, 1, 63, 64, 65, 1000, 65_537, 1_000_003] {
            let draw = |set| fill_with(set, &key, distribution, dtype, Shape::new([n])).unwrap();
            let baseline = draw(InstructionSet::Baseline);
            assert_eq!(
                (baseline.shape().as_slice(), baseline.dtype()),
                ([n].as_slice(), dtype)
            );
            for set in InstructionSet::available() {
                assert!(
                    draw(set).as_bytes() == baseline.as_bytes(),
                    "{set:?} {distribution:?} {dtype:?} {n}"
                );
            }
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for (distribution, dtype) in all() {
        let with_threads = |threads| {
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| draw(distribution, dtype, 300_001))
        };
        let one = with_threads(1);
        for threads in [2, 3] {
            assert!(
                with_threads(threads).as_bytes() == one.as_bytes(),
                "{distribution:?} {dtype:?} {threads} threads"
            );
        }
    }
}

#[test]
fn the_first_values_do_not_depend_on_how_many_follow() {
    for (distribution, dtype) in all() {
        let all = draw(distribution, dtype, 200_001);
        for n in [1, 15, 16, 17, 31, 33, 100, 65_536, 65_537] {
            let first = draw(distribution, dtype, n);
            assert!(
                all.as_bytes().starts_with(first.as_bytes()),
                "{distribution:?} {dtype:?} {n}"
            );
        }
    }
}

#[test]
fn the_shape_does_not_matter() {
    let key = DrawKey::new(11, "bits", 0);
    let shape = Shape::new([10, 3, 7]);
    let data = fill(&key, Distribution::Default, DType::F32, shape.clone()).unwrap();
    assert_eq!(data.shape(), &shape);
    assert_eq!(
        data.as_bytes(),
        draw(Distribution::Default, DType::F32, 210).as_bytes()
    );
    let scalar = fill(&key, Distribution::Default, DType::F32, Shape::new([])).unwrap();
    assert_eq!(
        scalar.as_bytes(),
        draw(Distribution::Default, DType::F32, 1).as_bytes()
    );
}

#[test]
fn flex32_and_f32_agree_and_the_half_types_round_them() {
    use burn::tensor::{bf16, f16};
    for distribution in DISTRIBUTIONS {
        let wide = draw(distribution, DType::F32, 1000);
        assert_eq!(
            draw(distribution, DType::Flex32, 1000).as_bytes(),
            wide.as_bytes()
        );
        let half = draw(distribution, DType::F16, 1000);
        let brain = draw(distribution, DType::BF16, 1000);
        let (half, brain) = (
            half.as_slice::<f16>().unwrap(),
            brain.as_slice::<bf16>().unwrap(),
        );
        for (i, &x) in wide.as_slice::<f32>().unwrap().iter().enumerate() {
            assert_eq!((half[i], brain[i]), (f16::from_f32(x), bf16::from_f32(x)));
        }
    }
}

fn error(distribution: Distribution, dtype: DType, shape: Shape) -> GeneratorError {
    fill(&DrawKey::new(0, "error", 0), distribution, dtype, shape).unwrap_err()
}

#[test]
fn a_check_finds_what_a_fill_would_refuse() {
    for (distribution, dtype) in all() {
        assert_eq!(check(distribution, dtype), Ok(()));
        let refused = Distribution::Normal(0.0, -1.0);
        assert_eq!(
            check(refused, dtype),
            Err(error(refused, dtype, Shape::new([9])))
        );
    }
    assert!(check(Distribution::Default, DType::Bool(BoolStore::Native)).is_err());
}

#[test]
fn unusable_parameters_are_errors_in_every_dtype() {
    let shape = Shape::new([2]);
    for dtype in DTYPES {
        for (low, high) in [
            (1.0, 1.0),
            (2.0, 1.0),
            (0.0, f64::INFINITY),
            (-1e300, -1e301),
        ] {
            let found = error(Distribution::Uniform(low, high), dtype, shape.clone());
            assert_eq!(found, GeneratorError::InvalidUniform { low, high, dtype });
        }
        for (mean, std) in [(0.0, -1.0), (f64::INFINITY, 1.0), (0.0, f64::INFINITY)] {
            let found = error(Distribution::Normal(mean, std), dtype, shape.clone());
            assert_eq!(found, GeneratorError::InvalidNormal { mean, std, dtype });
        }
        for probability in [-0.1, 1.1, f64::INFINITY] {
            let found = error(Distribution::Bernoulli(probability), dtype, shape.clone());
            assert_eq!(found, GeneratorError::InvalidBernoulli { probability });
        }
    }
    let found = error(Distribution::Uniform(1.0, 1.0), DType::F32, shape);
    assert_eq!(
        found.to_string(),
        "Distribution::Uniform(1, 1) cannot fill a tensor of dtype f32: expected finite bounds \
         with low < high after their conversion to the dtype, and high - low finite"
    );
}

#[test]
fn boolean_and_quantised_dtypes_are_errors() {
    for dtype in [
        DType::Bool(BoolStore::Native),
        DType::Bool(BoolStore::U8),
        DType::Bool(BoolStore::U32),
        DType::QFloat(QuantScheme::default()),
    ] {
        let found = error(Distribution::Default, dtype, Shape::new([2]));
        assert_eq!(found, GeneratorError::UnsupportedDType { dtype });
    }
}

#[test]
fn what_fits_no_memory_is_an_error() {
    let dtype = DType::F32;
    for shape in [
        Shape::new([usize::MAX, 2]),
        Shape::new([isize::MAX as usize / 4 + 1]),
    ] {
        let found = error(Distribution::Default, dtype, shape.clone());
        assert_eq!(found, GeneratorError::TooManyElements { shape, dtype });
    }
    let n = isize::MAX as usize / 4;
    let found = error(Distribution::Default, dtype, Shape::new([n]));
    assert_eq!(found, GeneratorError::OutOfMemory { bytes: 4 * n });
}
