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
// Invariants with Limits:
//   - What a call reads and makes is charged before it, by the weight of its values and
//     the size of its program (package cost); what is more than the steps left is refused.
//   - No value weighs more than Limits.Bytes, with everything that it contains each time
//     that it contains it, and none contains itself. So what the library does with values
//     between two calls is bounded too.
//   - No wall time decides what is refused, except Limits.Stop.
//
// A template is parsed once for all engines, as long as it is used.
//
// docs/spec/liquid-filters.md lists every filter; its examples are the tests.
package liquid
