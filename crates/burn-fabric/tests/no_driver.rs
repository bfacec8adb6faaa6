//! A machine without a graphics driver: nothing panics.

use std::process::Command;

use burn_fabric::prelude::*;

const CHILD: &str = "BURN_FABRIC_TEST_WITHOUT_DRIVER";

#[test]
fn without_a_driver_wgpu_is_refused_and_auto_takes_another() {
    if std::env::var_os(CHILD).is_some() {
        return without_a_driver();
    }
    // Drivers are looked for once in a process, so in another one.
    let name = "without_a_driver_wgpu_is_refused_and_auto_takes_another";
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    // Vulkan's, and OpenGL's, which wgpu takes where there is no Vulkan.
    let drivers = [
        "VK_DRIVER_FILES",
        "VK_ICD_FILENAMES",
        "__EGL_VENDOR_LIBRARY_FILENAMES",
        "LIBGL_DRIVERS_PATH",
    ];
    for variable in drivers {
        child.env(variable, "/nonexistent");
    }
    let output = child.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&text)
    );
}

fn without_a_driver() {
    let builder = || Fabric::builder().environment([("", ""); 0]);
    let wgpu = "wgpu".parse::<Accelerator>().unwrap();
    match builder().accelerator(wgpu).build() {
        Err(FabricError::NotCompiled { feature, .. }) => assert_eq!(feature, "wgpu"),
        Err(error @ FabricError::NoSuchDevice { .. }) => {
            assert!(error.to_string().contains("mesa-vulkan-drivers"), "{error}");
        }
        result => panic!("{result:?}"),
    }
    let fabric = builder().build().unwrap();
    let (chosen, others) = fabric.candidates().0.split_last().unwrap();
    assert!(chosen.is_usable && !others.is_empty());
    let text = fabric.candidates().to_string();
    let wgpu = text.lines().find(|line| line.starts_with("wgpu")).unwrap();
    let reason = ["mesa-vulkan-drivers", "without the feature"];
    assert!(reason.iter().any(|reason| wgpu.contains(reason)), "{text}");
}
