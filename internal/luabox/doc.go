// Package luabox runs untrusted Lua scripts inside a program that must survive them.
// The render child makes Helm values with it, and the agent judges the health of
// objects with it, in its own process.
//
// A box has base, string, table and math; no files, programs, modules, printing,
// garbage collector or environment. The limits of a script:
//
//   - Steps: Lua checks before every instruction, so that a loop ends at the same
//     place everywhere, and pcall cannot catch it.
//   - Text: no string longer than this can be made. `..` is compiled to a call of a function
//     that checks the total length first: Lua's own instruction joins 250 operands
//     and doubles a string in three steps, which counting between instructions would
//     not notice. The function is a local with a name that no script can write, and
//     not a global, so that neither _G nor an environment nor a metatable reaches it.
//     rep, format, concat and gsub check first as well, and no text is compiled at
//     run time.
//   - Bytes: measured every 32 instructions, at each one while it grows, and right
//     after each string of 4 KiB or more. One instruction that makes no string takes
//     at most 1 MiB (a list's length), so that a script exceeds its limit by at most
//     16 MiB.
//   - Pattern: the steps of all pattern searches, counted during the search. For that
//     we have our own matcher: a pattern is rejected for its cost on its text, and an
//     expensive pattern on a short text is harmless.
//   - Time, checked with the bytes, and by patterns.
//
// It knows nothing of objects, values or files: callers set those, and can call Run
// on one box any number of times. A box serves one goroutine.
package luabox
