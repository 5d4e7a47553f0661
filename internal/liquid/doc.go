// Package liquid renders Liquid templates the way services write them: the
// standard language with Sprig's functions as filters.
//
// A template sees the bindings it is given and nothing else: there is no
// include from a disk, no environment, no clock but the one passed in and no
// network. The hub's fan-out and the render child share it, so that a name
// means one thing in both. A variable that is not set is empty. What a
// template changes in its bindings ends with it, and its output is at most
// 32 MiB.
//
// docs/spec/liquid-filters.md lists every filter; its examples are the tests.
package liquid
