// Package render is the render child: it turns the files of a service into
// Kubernetes objects, one pass after another, and knows nothing else.
//
// The agent starts the binary axle-render and speaks the frames of
// api/render/v1 with it. Before it reads anything the child gives up what it
// does not need (see Confine): new privileges, sockets, programs, files, and
// memory beyond 512 MiB more than it begins with. What a template needs to know
// about its cluster it asks through the pipe, read only.
//
// A pass starts from nothing: files, bindings, answers and the state of the
// makers are made anew, so a pass cannot see the one before it. A child serves
// passes of one project in turn, at most 100 or 60 s of life.
//
// A pass may also be a batch of objects to be judged by a rule of health in CEL
// (package expression), without files; a program that does not have it says so.
//
// Each maker is a package of its own below this one; only this package knows
// them, and a maker knows neither the pipe nor the other makers.
package render
