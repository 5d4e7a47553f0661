package notifications

import "testing"

func TestFiltersOfARouter(t *testing.T) {
	for text, want := range map[string]string{
		"service=web": "web||",
		"service=web,cluster=edge,regex=a{1,2},b": "web|edge|a{1,2},b",
		"cluster=edge,service=web":                "web|edge|",
		"regex=service=a,cluster=b":               "||service=a,cluster=b",
		"service=a,service=b":                     "",
		"service=":                                "",
		"web":                                     "",
		"other=a":                                 "",
	} {
		f, err := parseFilter(text)
		if err == nil != (want != "") || err == nil && f.GetService()+"|"+f.GetCluster()+"|"+f.GetRegex() != want {
			t.Errorf("%q: %v, %v; want %q", text, f, err, want)
		}
	}
}
