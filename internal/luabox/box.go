package luabox

import (
	"fmt"
	"sync"
	"time"

	"github.com/yuin/gopher-lua"
)

// Limits bound all runs of one box together. All but Pattern are required.
type Limits struct {
	// Steps is the number of Lua instructions.
	Steps int
	// Time starts with the first run.
	Time time.Duration
	// Bytes is what the process allocates from the first run on. With Held, it is the
	// growth of its live memory since then, which is only correct if nothing else
	// runs in the process.
	Bytes uint64
	Held  bool
	// Text is the maximum length of a string, in bytes.
	Text int
	// Pattern bounds the cost of patterns, for all searches of all runs together, in
	// compared characters; zero leaves only the time limit.
	Pattern int
	// Calls is the maximum call depth, Registry the maximum number of values in all
	// calls.
	Calls, Registry int
	// Clock provides os.time and os.date.
	Clock bool
	// Random provides math.random and math.randomseed.
	Random bool
}

// Box is one Lua state. Close it.
type Box struct {
	// State is the Lua state, for callers that set and read values.
	State *lua.LState

	limits Limits
	limit  *limit
	concat *lua.LFunction
}

// hidden are the functions of the base library that read files, print, load modules,
// compile text that did not pass through Compile, access the Lua state, or change the
// environment of functions.
var hidden = []string{"collectgarbage", "dofile", "loadfile", "module", "newproxy", "print", "require", "_printregs",
	"getfenv", "setfenv", "load", "loadstring"}

// smallLists prevents t[60000000] = 1 from allocating a gigabyte of nils: larger
// indexes go to the table's hash, where they do not count as its length.
var smallLists = sync.OnceFunc(func() { lua.MaxArrayIndex = 1 << 16 })

// New makes an empty box.
func New(limits Limits) *Box {
	smallLists()
	state := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: limits.Calls,
		RegistrySize: 512, RegistryGrowStep: 256, RegistryMaxSize: limits.Registry})
	b := &Box{State: state, limits: limits}
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath, lua.OpenOs} {
		state.Push(state.NewFunction(open))
		state.Call(0, 0)
	}
	global := state.G.Global
	for _, name := range hidden {
		global.RawSetString(name, lua.LNil)
	}
	b.keepClock(global)
	if numbers, ok := global.RawGetString(lua.MathLibName).(*lua.LTable); ok && !limits.Random {
		numbers.RawSetString("random", lua.LNil)
		numbers.RawSetString("randomseed", lua.LNil)
	}
	b.concat = state.NewFunction(b.join)
	b.boundText(global)
	return b
}

// keepClock keeps only os.time and os.date of os, or nothing.
func (b *Box) keepClock(global *lua.LTable) {
	whole, ok := global.RawGetString(lua.OsLibName).(*lua.LTable)
	if !ok || !b.limits.Clock {
		global.RawSetString(lua.OsLibName, lua.LNil)
		return
	}
	clock := b.State.NewTable()
	clock.RawSetString("time", whole.RawGetString("time"))
	clock.RawSetString("date", whole.RawGetString("date"))
	global.RawSetString(lua.OsLibName, clock)
}

// Close frees the Lua state.
func (b *Box) Close() { b.State.Close() }

// Run runs a script and returns its first result. An error is ErrSteps, ErrTime or
// ErrBytes if a limit was reached, and an *Error if the script failed.
func (b *Box) Run(script *Script) (result lua.LValue, err error) {
	defer func() {
		// The Lua library panics on unsupported operations; no script may end the
		// process.
		if r := recover(); r != nil {
			result, err = lua.LNil, &Error{Message: fmt.Sprint(r)}
		}
	}()
	if b.limit == nil {
		b.limit = newLimit(b.limits)
		b.State.SetContext(b.limit)
	}
	b.State.Push(b.State.NewFunctionFromProto(script.proto))
	b.State.Push(b.concat)
	err = b.State.PCall(1, 1, nil)
	if b.limit.err != nil {
		return lua.LNil, b.limit.err
	}
	if err != nil {
		return lua.LNil, failure(err)
	}
	result = b.State.Get(-1)
	b.State.Pop(1)
	return result, nil
}
