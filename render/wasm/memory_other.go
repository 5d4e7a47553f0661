//go:build !unix

package wasm

import "context"

// withMemory keeps a module's memory on the heap.
func withMemory(ctx context.Context) context.Context { return ctx }
