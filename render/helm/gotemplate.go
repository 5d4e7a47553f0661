package helm

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/manifest"
)

// Limits of one values file in Go templates.
const (
	maxGoTemplate = 8 << 20
	maxIncludes   = 500
)

// goTemplate renders a values file as a Go template. It has the same variables as
// Liquid, with and without a capital, and can include templates defined in the *.tpl
// files of its folder, or those files by name.
func (r Request) goTemplate(file string, text []byte) ([]byte, error) {
	fail := func(err error) error { return templateError(file, err) }
	root := template.New(file)
	depth := 0
	functions := r.valuesFunctions()
	functions["include"] = func(name string, data any) (string, error) {
		if depth++; depth > maxIncludes {
			return "", fmt.Errorf("more than %d templates include each other", maxIncludes)
		}
		defer func() { depth-- }()
		var out boundedText
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	root.Funcs(functions)
	dir := path.Dir(file)
	for _, other := range r.Tree.Below(dir) {
		if other == file || path.Dir(other) != dir || path.Ext(other) != ".tpl" {
			continue
		}
		more, err := r.Tree.Read(other)
		if err != nil {
			return nil, err
		}
		if _, err := root.New(path.Base(other)).Parse(string(more)); err != nil {
			return nil, templateError(other, err)
		}
	}
	if _, err := root.Parse(string(text)); err != nil {
		return nil, fail(err)
	}
	var out boundedText
	if err := root.Execute(&out, capitalised(r.Liquid.Bindings())); err != nil {
		return nil, fail(err)
	}
	return []byte(strings.ReplaceAll(out.String(), "<no value>", "")), nil
}

// valuesFunctions are Sprig's functions without those that read the machine, with the
// revision's clock, and with YAML as in charts.
func (r Request) valuesFunctions() template.FuncMap {
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	maps.Copy(functions, template.FuncMap{
		"now": func() time.Time { return r.Now },
		"ago": r.ago,
		"toYaml": func(v any) (string, error) {
			out, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(out), "\n"), err
		},
		"fromYaml": func(text string) (map[string]any, error) {
			out := map[string]any{}
			return out, yaml.Unmarshal([]byte(text), &out)
		},
	})
	return functions
}

// ago is how long before the revision a time was.
func (r Request) ago(v any) string {
	t, ok := v.(time.Time)
	if !ok {
		return "0s"
	}
	return r.Now.Sub(t).Round(time.Second).String()
}

// capitalised adds each of the bindings, and each of their fields except those of
// user-defined maps, a second time with a capital: .Cluster.Name.
func capitalised(bindings map[string]any) map[string]any {
	out := make(map[string]any, 2*len(bindings))
	for name, value := range bindings {
		if fields, ok := value.(map[string]any); ok && (name == "cluster" || name == "service") {
			both := make(map[string]any, 2*len(fields))
			for field, v := range fields {
				both[field], both[capital(field)] = v, v
			}
			value = both
		}
		out[name], out[capital(name)] = value, value
	}
	return out
}

func capital(name string) string {
	if name == "id" {
		return "ID"
	}
	return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

// templateFault matches the position in an error of text/template.
var templateFault = regexp.MustCompile(`^template: (.*?):(\d+)(?::\d+)?: `)

func templateError(file string, err error) error {
	bad := &manifest.Error{File: file, Message: "invalid template: " + err.Error()}
	if found := templateFault.FindStringSubmatch(err.Error()); found != nil {
		if found[1] != file && found[1] != path.Base(file) {
			bad.File = path.Join(path.Dir(file), found[1])
		}
		bad.Line, _ = strconv.Atoi(found[2])
		bad.Message = "invalid template: " + strings.TrimPrefix(err.Error(), found[0])
	}
	return bad
}

// boundedText keeps a template's output up to a limit.
type boundedText struct{ strings.Builder }

var errTooLong = errors.New("the output is larger than " + strconv.Itoa(maxGoTemplate>>20) + " MiB")

// Write fails if the output becomes too large.
func (b *boundedText) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxGoTemplate {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}
