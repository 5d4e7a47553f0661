// Package kustomize renders a kustomization with the Kustomize library, in
// memory.
//
// References may leave the kustomization's own folder (../../base) but not the
// service's files. A remote base, or a chart from a repository, is looked up among
// the copies that the hub put beside the files (internal/vendored). What has no copy,
// and anything that would run a program, is rejected with file and line: the render
// child has no network and starts no programs. Charts are rendered by a function of
// the render child, which also calls this package.
//
// The library keeps the schema of the last kustomization in package variables. Render
// resets them, so that one pass cannot change the next.
package kustomize
