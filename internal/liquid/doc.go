// Package liquid renders Liquid templates the way services write them: the
// standard language with Sprig's functions as filters.
//
// A template sees only the bindings it is given: there is no include from a disk, no
// environment, no network, and no clock but the one passed in. The hub's fan-out and
// the render child share the package, so that a name means the same in both. A
// variable that is not set is empty. Changes to the bindings end with the template,
// and its output is at most 32 MiB. Templates of other people that are
// rendered in a process with other work get Limits: of steps, output and texts on the way.
//
// docs/spec/liquid-filters.md lists every filter; its examples are the tests.
package liquid
