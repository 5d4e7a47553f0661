// Package kustomize renders a kustomization with the Kustomize library, in
// memory.
//
// References may leave the kustomization's own folder (../../base) but not the
// service's files, which are all there is. A remote base and the chart of a
// repository are looked up among the copies that the hub put beside the files
// (internal/vendored); what has no copy, and anything that would run a program,
// is refused with file and line: the render child has no network and starts
// nothing. Charts are rendered by a function that the render child gives. The
// render child calls it.
//
// The library keeps the schema of the last kustomization in package variables;
// Render puts them back, so that one pass cannot change the next.
package kustomize
