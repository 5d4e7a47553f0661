package helm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/gopher-lua"

	"github.com/axle-cd/axle/internal/manifest"
)

// Bounds of one run of a service's scripts. The child's own time and memory
// are the bound of what is not made of steps, such as one costly pattern.
const (
	maxLuaSteps  = 20_000_000
	maxLuaTime   = 5 * time.Second
	maxLuaHeap   = 128 << 20
	maxLuaText   = 8 << 20
	maxLuaCalls  = 200
	maxLuaNested = 64
)

// luaName is how the service's inline script is called in errors.
const luaName = "the service's helm.luaScript"

// Lua names the scripts that make values.
type Lua struct {
	Script, File, Folder string
}

// luaValues are what scripts made.
type luaValues struct {
	values map[string]any
	files  []string
}

// runLua runs the folder's scripts in the order of their names, the file and
// the inline script, all in one machine, and reads the globals values and
// valuesFiles.
func (r Request) runLua() (luaValues, error) {
	scripts, err := r.luaScripts()
	if err != nil || len(scripts) == 0 {
		return luaValues{}, err
	}
	state := r.luaState()
	defer state.Close()
	limit := &luaLimit{Context: context.Background(), until: time.Now().Add(maxLuaTime), done: make(chan struct{}), heap: heapBytes() + maxLuaHeap}
	state.SetContext(limit)
	for _, script := range scripts {
		run, err := state.Load(strings.NewReader(string(script.text)), script.name)
		if err == nil {
			state.Push(run)
			err = state.PCall(0, 0, nil)
		}
		if limit.err != nil {
			err = limit.err
		}
		if err != nil {
			return luaValues{}, luaError(script.name, err)
		}
	}
	last := scripts[len(scripts)-1].name
	out := luaValues{}
	values, err := fromLua(state.GetGlobal("values"), 0)
	if err != nil {
		return luaValues{}, luaError(last, fmt.Errorf("values: %w", err))
	}
	switch values := values.(type) {
	case map[string]any:
		out.values = values
	case []any, nil:
		if list, _ := values.([]any); len(list) > 0 {
			return luaValues{}, luaError(last, errors.New("values is a list; it must be a table with names"))
		}
	default:
		return luaValues{}, luaError(last, errors.New("values is not a table"))
	}
	files, _ := state.GetGlobal("valuesFiles").(*lua.LTable)
	for i := 1; files != nil && i <= files.Len(); i++ {
		name, ok := files.RawGetInt(i).(lua.LString)
		if !ok {
			return luaValues{}, luaError(last, errors.New("valuesFiles holds something that is not a text"))
		}
		out.files = append(out.files, string(name))
	}
	return out, nil
}

// luaScripts reads the scripts, in the order in which they run.
func (r Request) luaScripts() ([]valuesText, error) {
	var scripts []valuesText
	read := func(file string) error {
		text, err := r.Tree.Read(file)
		scripts = append(scripts, valuesText{name: file, text: text})
		return err
	}
	if r.Lua.Folder != "" {
		dir, err := r.findLua(r.Lua.Folder, r.Tree.IsDir, "folder")
		if err != nil {
			return nil, err
		}
		for _, file := range slices.Sorted(slices.Values(r.Tree.Below(dir))) {
			if path.Ext(file) == ".lua" {
				if err := read(file); err != nil {
					return nil, err
				}
			}
		}
	}
	if r.Lua.File != "" {
		file, err := r.findLua(r.Lua.File, r.Tree.IsFile, "file")
		if err != nil {
			return nil, err
		}
		if err := read(file); err != nil {
			return nil, err
		}
	}
	if strings.TrimSpace(r.Lua.Script) != "" {
		scripts = append(scripts, valuesText{name: luaName, text: []byte(r.Lua.Script)})
	}
	return scripts, nil
}

// findLua looks where values files are looked for.
func (r Request) findLua(name string, is func(string) bool, what string) (string, error) {
	for _, root := range r.roots() {
		if found := path.Join(root, name); is(found) {
			return found, nil
		}
	}
	return "", &manifest.Error{File: path.Join(r.Dir, name), Message: "the " + what + " of Lua scripts does not exist at this revision; " +
		"its path is relative to the chart or to the service's folder"}
}

// luaLimit is a context that ends when a script has used up its steps, its time
// or its memory: the machine asks for Done before each step.
type luaLimit struct {
	context.Context
	until time.Time
	heap  uint64
	steps int
	// look is the step at which memory is read next, last what was read.
	look int
	last uint64
	done chan struct{}
	err  error
}

// Done counts a step.
func (l *luaLimit) Done() <-chan struct{} {
	l.steps++
	if l.err != nil {
		return l.done
	}
	switch {
	case l.steps > maxLuaSteps:
		l.end(fmt.Errorf("the script takes more than %d million steps; it may loop without end", maxLuaSteps/1_000_000))
	case l.steps%1024 == 0 && time.Now().After(l.until):
		l.end(fmt.Errorf("the script takes more than %v", maxLuaTime))
	case l.steps >= l.look && l.full():
		l.end(fmt.Errorf("the script uses more than %d MiB of memory", maxLuaHeap>>20))
	}
	return l.done
}

// full reads the memory in use. A text that is doubled takes two steps and is
// sixteen times as long after eight, so that memory is read every eighth step,
// and before each one while it grows.
func (l *luaLimit) full() bool {
	now := heapBytes()
	l.look = l.steps + 8
	if now > l.last+maxLuaHeap/256 {
		l.look = l.steps + 1
	}
	l.last = now
	return now > l.heap
}

// Err is why the script was ended.
func (l *luaLimit) Err() error { return l.err }

func (l *luaLimit) end(err error) {
	l.err = err
	close(l.done)
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// luaPlace is how the machine writes where a script failed.
var luaPlace = regexp.MustCompile(`(?:^|: )(?:\S.*?)(?::(\d+):| line:(\d+)\(column:\d+\))\s*(.*)`)

// luaError keeps the first line of the machine's message, with its place.
func luaError(name string, err error) error {
	message := err.Error()
	var failed *lua.ApiError
	if errors.As(err, &failed) {
		message = failed.Object.String()
		if failed.Object == lua.LNil || failed.Type != lua.ApiErrorRun {
			message = failed.Error()
		}
	}
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	bad := &manifest.Error{File: name, Message: "the script failed: " + message}
	if found := luaPlace.FindStringSubmatch(message); found != nil {
		bad.Line, _ = strconv.Atoi(found[1] + found[2])
		bad.Message = "the script failed: " + strings.TrimSpace(found[3])
	}
	return bad
}
