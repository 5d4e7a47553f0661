// Package kustomize renders a kustomization with the Kustomize library, in
// memory.
//
// References may leave the kustomization's own folder (../../base) but not the
// service's files, which are all there is. A remote base, a chart to inflate
// and anything that would run a program are refused with file and line: the
// render child has no network and starts nothing. The render child calls it.
//
// The library keeps the schema of the last kustomization in package variables;
// Render puts them back, so that one pass cannot change the next.
package kustomize
