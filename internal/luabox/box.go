package luabox

import (
	"fmt"
	"sync"
	"time"

	"github.com/yuin/gopher-lua"
)

// Limits bound all runs of one box together. All but Pattern are
// required.
type Limits struct {
	// Steps are instructions of the machine.
	Steps int
	// Time begins with the first run.
	Time time.Duration
	// Bytes are what the process allocates from the first run on; with Held,
	// what it holds more than then, which is right only where nothing else runs
	// in the process for long.
	Bytes uint64
	Held  bool
	// Text is the longest text that may be made, in bytes.
	Text int
	// Pattern bounds what patterns cost, all searches of all runs together, in
	// characters that are compared; zero is no bound but the time.
	Pattern int
	// Calls is the depth of calls, Registry the number of values of all of them.
	Calls, Registry int
	// Clock gives os.time and os.date.
	Clock bool
	// Random gives math.random and math.randomseed.
	Random bool
}

// Box is one machine. Close it.
type Box struct {
	// State is the machine, for callers that put values in and take them out.
	State *lua.LState

	limits Limits
	limit  *limit
	concat *lua.LFunction
}

// hidden are the parts of the base library that read files, print, load
// modules, compile text that did not pass through Compile, reach into the
// machine, or change what functions see.
var hidden = []string{"collectgarbage", "dofile", "loadfile", "module", "newproxy", "print", "require", "_printregs",
	"getfenv", "setfenv", "load", "loadstring"}

// smallLists keeps t[60000000] = 1 from allocating a gigabyte of nils: larger
// indexes go to the table's hash, where they do not count as its length.
var smallLists = sync.OnceFunc(func() { lua.MaxArrayIndex = 1 << 16 })

// New makes an empty machine.
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

// keepClock leaves os.time and os.date of os, or nothing.
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

// Close frees the machine.
func (b *Box) Close() { b.State.Close() }

// Run runs a script and returns its first result. An error is ErrSteps,
// ErrTime or ErrBytes when a limit was reached, an *Error when the script
// failed.
func (b *Box) Run(script *Script) (result lua.LValue, err error) {
	defer func() {
		// The machine panics over what it cannot do; no script may end us.
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
