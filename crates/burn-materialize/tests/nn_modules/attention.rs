use burn::nn::attention::{CrossAttentionConfig, MhaInput, MultiHeadAttentionConfig};

use crate::support::{FANS, check, check_initializers, flat, input};

#[test]
fn module_multi_head_attention() {
    // A plain softmax does not depend on the bias of the keys; a quiet one does.
    let config = MultiHeadAttentionConfig::new(104, 4).with_quiet_softmax(true);
    for config in [
        config.clone(),
        config.with_value_bias(false).with_output_bias(false),
    ] {
        check(
            |device| config.init(device),
            |attention, device| {
                let [query, memory] = [input([2, 3, 104], device), input([2, 5, 104], device)];
                flat(
                    attention
                        .forward(MhaInput::new(query, memory.clone(), memory))
                        .context,
                )
            },
        );
        check_initializers(FANS, |device, initializer| {
            config.clone().with_initializer(initializer).init(device)
        });
    }
}

#[test]
fn module_cross_attention() {
    // Heads that are shared, and four different widths.
    let config = CrossAttentionConfig::new(130, 110, 6, 3, 32).with_quiet_softmax(true);
    check(
        |device| config.init(device),
        |attention, device| {
            let [query, context] = [input([2, 3, 130], device), input([2, 5, 110], device)];
            flat(attention.forward(query, context, None))
        },
    );
}
