package specrules

import (
	"encoding/json"
	"strings"

	"github.com/axle-cd/axle/internal/bounded"
)

// maxChartValues bounds the secret with values of a chart, as etcd does the Secret that they
// come from, and maxChartValuesInMemory what they become.
const (
	maxChartValues         = 1 << 20
	maxChartValuesInMemory = 32 << 20
)

// ChartValues decodes the secret with values of a service's chart; nil for what is none.
func ChartValues(text string) map[string]any {
	var values map[string]any
	if len(text) > maxChartValues || bounded.CheckJSON([]byte(text), &values, maxChartValuesInMemory) != nil {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&values) != nil || d.More() {
		return nil
	}
	return values
}
