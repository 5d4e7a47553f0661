package plan

import (
	"encoding/base64"
	"maps"
)

// asData moves a Secret's stringData into its data, as the API server does. Applied as
// stringData, a field manager owns keys that the object does not have: a key that Git
// drops would stay, and a value that somebody changes would not be ours. It changes
// nothing in what it gets. What is not text is left for the API server to refuse.
func asData(top map[string]any) map[string]any {
	texts, ok := top["stringData"].(map[string]any)
	if !ok {
		return top
	}
	have, ok := top["data"].(map[string]any)
	if top["data"] != nil && !ok {
		return top
	}
	data := make(map[string]any, len(have)+len(texts))
	maps.Copy(data, have)
	for key, value := range texts {
		text, ok := value.(string)
		if !ok {
			return top
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	out := maps.Clone(top)
	delete(out, "stringData")
	out["data"] = data
	return out
}
