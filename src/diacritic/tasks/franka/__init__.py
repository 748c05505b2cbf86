"""A Franka Panda in MuJoCo that must remember: scene, control, tasks, experts, environments."""
