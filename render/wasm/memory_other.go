//go:build !unix

package wasm

import "context"

// withMemory leaves a module's memory to the heap.
func withMemory(ctx context.Context) context.Context { return ctx }
