// Package story plays what an operator of Axle does on a real node, with the images and
// the command of a release: carry a release in as a bundle, install, declare, deliver,
// upgrade, and lose the hub. It measures each step. Nothing comes from another registry
// than the one that the bundle was pushed to; the node has no way there.
//
// It does not build the docs site, and makes releases for the platform of this machine
// alone. Its own test and `make bench-node` call it.
//
// Invariants: each step fails within 10 min and says what it waited for. Checks ask the API
// server, the kernel or a pod, not the hub alone.
package story
