package helm_test

import (
	"errors"
	"testing"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/render/helm"
)

// FuzzLua holds that no script ends the program, and that every failure has
// its file.
func FuzzLua(f *testing.F) {
	f.Add("values.a = 1")
	f.Add("values = {1, 2, x = {}} valuesFiles = {'a.yaml'}")
	f.Add("values = utils.merge(encoding.yamlDecode(fs.read('Chart.yaml')), {a = {1}}, 'append')")
	f.Add("setmetatable(values, {__index = function(t, k) return t[k] end}) values.x = values.y")
	f.Add("values.s = string.format('%5d %q', 3, 'x') .. table.concat({'a', 'b'}, ',')")
	f.Add("local t = {} t[-1] = 1 t[1e300] = 2 values.t = t")
	f.Fuzz(func(t *testing.T, script string) {
		r := scripted(t, nil)
		r.Lua.Script = script
		_, err := helm.Render(t.Context(), r)
		var bad *manifest.Error
		if err != nil && (!errors.As(err, &bad) || bad.File == "") {
			t.Errorf("an error without its place: %v", err)
		}
	})
}
