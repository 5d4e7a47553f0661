// Package tools pins the Go tools of the project in a module of their own, so
// that they bump no dependency of the product. Run one with
// "go tool -modfile=tools/go.mod NAME" from the project's root.
package tools
