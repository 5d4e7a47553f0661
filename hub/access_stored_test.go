package hub_test

import (
	"fmt"
	"strings"

	"github.com/axle-cd/axle/api/object"
)

// inShop are the settings of an example, in the project of the bed, about its cluster.
func inShop(k object.Kind) string {
	return strings.NewReplacer(`"project": "default"`, `"project": "shop"`, `"cluster": "edge-1"`, `"cluster": "edge-shop"`).Replace(k.Storage.Example)
}

// ofStored are the rows for each kind in the table of objects that is, or is not, in a project.
func ofStored(row tableRow) (rows []tableRow) {
	for _, k := range object.Stored() {
		one, word := row, "{Stored}"
		if k.Storage.InProject {
			word = "{InProject}"
		}
		if !strings.Contains(row.route, word) {
			continue
		}
		one.route, one.request = strings.ReplaceAll(row.route, word, k.Calls.Service), strings.ReplaceAll(row.request, "{settings}", inShop(k))
		rows = append(rows, one)
	}
	return rows
}

// stored makes an object of each kind in the table of objects.
func (b *tableBed) stored(name string) {
	b.t.Helper()
	for _, k := range object.Stored() {
		b.must(k.Calls.Path(k.Calls.Update), fmt.Sprintf(`{"name": %q, "settings": %s}`, name, inShop(k)))
	}
}
