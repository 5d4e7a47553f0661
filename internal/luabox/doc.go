// Package luabox runs Lua that strangers wrote, inside a program that must
// live on. The render child makes Helm values with it, and the agent judges
// the health of objects with it, in its own process.
//
// A box has base, string, table and math; no files, programs, modules,
// printing, garbage collector or environment. What bounds a script:
//
//   - Steps: the machine asks before every instruction, so that a loop ends at
//     the same place everywhere, and cannot be caught by pcall.
//   - Text: no text longer than that can be made. `..` is compiled to a call of
//     a function that looks at the sum first: the machine's own instruction
//     joins 250 operands and doubles a text in three steps, which no counting
//     between instructions would see. The function is a local of a name that
//     no script can write, and not a global, so that neither _G nor an
//     environment nor a metatable reaches it. rep, format, concat and gsub look
//     first as well, and no text is compiled at run time.
//   - Bytes: read every 32 instructions, at each one while it grows, and right
//     after each text of 4 KiB or more; one instruction that makes no text
//     takes 1 MiB at most (a list's length), so that a script is over its limit
//     by 16 MiB at most.
//   - Pattern: the steps of all searches for patterns, counted while they look.
//     The matcher is our own for that: a pattern is refused by what it costs on
//     its text, and a costly form on a short text is no harm.
//   - Time, read with the bytes, and by patterns.
//
// It knows nothing of objects, values or files: callers put those in, and call
// Run as often as they like on one box. A box serves one goroutine.
package luabox
