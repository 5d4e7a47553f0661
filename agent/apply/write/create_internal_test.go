package write

import "testing"

func TestOnlyCreateTouchesTheOutermostMetadata(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"plain":  {`{"a":1,"metadata":{"name":"x"}}`, `{"a":1,"metadata":{"resourceVersion":"1","name":"x"}}`},
		"nested": {`{"items":[{"metadata":{"a":1}}],"metadata":{"name":"x"}}`, `{"items":[{"metadata":{"a":1}}],"metadata":{"resourceVersion":"1","name":"x"}}`},
		"quoted": {`{"data":"\"metadata\":{","metadata":{"name":"x"}}`, `{"data":"\"metadata\":{","metadata":{"resourceVersion":"1","name":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(OnlyCreate([]byte(test.body))); got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
}
