//! Writes files for the fuzzer to begin with, into `corpus`.

use std::fs;
use std::path::Path;

#[path = "../crates/burn-weights/tests/support/mod.rs"]
mod support;

use support::pickle::{Pickle, Tensor};
use support::safetensors::{entry, of};
use support::{burnpack, safetensors, torch};

fn main() {
    let one = Tensor::whole("0", &[6], &[1]);
    let nested = |pickle: Pickle| {
        let dict = pickle.class("collections", "OrderedDict").op(b")Rq\x01");
        dict.entry("w", |pickle| pickle.tensor(one).op(b"q\x02h\x02"))
    };
    let nested = Pickle::new().op(b"}q\x00").entry("model", nested).stop();
    let texts = b"(dp0\nVname\np1\nVvalue\np2\nsVbig\nL123456789012345678901234567890L\nsVf\nF1.5\ns.";
    let framed = b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x01a\x94K\x01\x8c\x01b\x94\x8f\x94(K\x02\x90u.";
    let module = b"\x80\x02c__main__\nM\nq\x00)\x81q\x01}q\x02(X\x0b\0\0\0_parametersq\x03}X\x08\0\0\0_buffersq\x04}X\x08\0\0\0_modulesq\x05}ub.";
    let pickles = [&nested[..], texts, framed, module];
    let mut pytorch = vec![
        [&[0], &torch::sample()[..]].concat(),
        [&[0], &torch::sample_stream()[..]].concat(),
    ];
    for kind in 1..4 {
        pytorch.extend(pickles.iter().map(|pickle| [&[kind], *pickle].concat()));
    }
    let plain = of(&[entry("a.b", "U8", &[2, 2], 0..4)], 4);
    let index = br#"{"metadata":{"total_size":46,"format":"pt"},"weight_map":{"linear.weight":"1.safetensors","bias":"2.bpk","gone":"1.safetensors"}}"#;
    write("safetensors", &[safetensors::sample(), plain]);
    write("burnpack", &[burnpack::sample()]);
    write("index", &[index.to_vec()]);
    write("pytorch", &pytorch);
}

fn write(target: &str, seeds: &[Vec<u8>]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder).expect("the folder is made");
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed).expect("a seed is written");
    }
}
