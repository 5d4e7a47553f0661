package helm

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/gopher-lua"

	"github.com/axle-cd/axle/internal/luabox"
	"github.com/axle-cd/axle/internal/manifest"
)

// luaLimits bounds one run of a service's scripts.
var luaLimits = luabox.Limits{Steps: 20_000_000, Time: 5 * time.Second, Bytes: 128 << 20, Held: true, Text: 8 << 20,
	Pattern: 300_000_000, Calls: 200, Registry: 64 << 10}

// Limits of the values produced by a script. A table in several places counts several
// times.
const (
	maxLuaNested = 64
	maxLuaValues = 1_000_000
)

// luaName is the name of the service's inline script in errors.
const luaName = "the service's helm.luaScript"

// Lua names the scripts that produce values.
type Lua struct {
	Script, File, Folder string
}

// luaValues are the values that scripts produced.
type luaValues struct {
	values map[string]any
	files  []string
}

// runLua runs the folder's scripts in the order of their names, the file and the
// inline script, all in one Lua state, and reads the globals values and valuesFiles.
func (r Request) runLua() (luaValues, error) {
	scripts, err := r.luaScripts()
	if err != nil || len(scripts) == 0 {
		return luaValues{}, err
	}
	box := r.luaBox()
	defer box.Close()
	state := box.State
	for _, text := range scripts {
		script, err := luabox.Compile(text.name, string(text.text))
		if err == nil {
			_, err = box.Run(script)
		}
		if err != nil {
			return luaValues{}, luaError(text.name, err)
		}
	}
	last := scripts[len(scripts)-1].name
	out := luaValues{}
	values, err := fromLua(state.GetGlobal("values"))
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

// findLua looks in the same folders as for values files.
func (r Request) findLua(name string, is func(string) bool, what string) (string, error) {
	for _, root := range r.roots() {
		if found := path.Join(root, name); is(found) {
			return found, nil
		}
	}
	return "", &manifest.Error{File: path.Join(r.Dir, name), Message: "the " + what + " of Lua scripts does not exist at this revision; " +
		"its path is relative to the chart or to the service's folder"}
}

// luaPlace matches the position of an error in the Lua machine's message.
var luaPlace = regexp.MustCompile(`(?:^|: )(?:\S.*?)(?::(\d+):| line:(\d+)\(column:\d+\))\s*(.*)`)

// luaError keeps the machine's message, with its position.
func luaError(name string, err error) error {
	message := err.Error()
	if limit := luaLimitTexts[err]; limit != "" {
		message = limit
	}
	bad := &manifest.Error{File: name, Message: "the script failed: " + message}
	if found := luaPlace.FindStringSubmatch(message); found != nil {
		bad.Line, _ = strconv.Atoi(found[1] + found[2])
		bad.Message = "the script failed: " + strings.TrimSpace(found[3])
	}
	return bad
}

// luaLimitTexts are the messages for exceeded limits.
var luaLimitTexts = map[error]string{
	luabox.ErrSteps: "the script takes more than 20 million steps; it may loop without end",
	luabox.ErrTime:  "the script takes more than 5s",
	luabox.ErrBytes: "the script uses more than 128 MiB of memory",
}
