package observe

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// FuzzAnswers feeds what a store may send to every decoder of its answers.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up"},"value":[1700000000.5,"1"]}]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"NaN"],[2,"+Inf"]]}],"stats":{"samples":{"totalQueryableSamples":7}}},"warnings":["w"]}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, `{"status":"success","data":{"resultType":"string","result":[1,"text"]}}`,
		`{"status":"success","data":{"result":[{"metric":{"a":"b"},"histogram":[1,{"count":"1"}]}],"resultType":"vector"}}`,
		`{"status":"success","data":[{"a":"b"},null]}`, `{"status":"success","data":["a","b"]}`, `{"status":"success","data":null}`,
		`{"status":"error","errorType":"bad_data","error":"x"}`, `{"data":{"result":[[[[[[`, `[]`, `null`, `{"status":"success","data":{"result":[1,2,3]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[` + strings.Repeat(`{"metric":{}},`, 50) + `{}]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if r, err := decodeQuery(strings.NewReader(text)); err == nil {
			for _, s := range r.Series {
				if len(s.Times) != len(s.Values) {
					t.Errorf("%d times of %d values", len(s.Times), len(s.Values))
				}
			}
			if len(r.Series) > maxSeries {
				t.Errorf("%d series", len(r.Series))
			}
		}
		_, _, _, _ = decodeSeries(strings.NewReader(text))
		_, _, _, _ = decodeNames(strings.NewReader(text))
		runtime.ReadMemStats(&after)
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(8<<20+200*len(text)); took > most {
			t.Errorf("%d bytes became %d", len(text), took)
		}
	})
}

func TestAnswersAreRead(t *testing.T) {
	read := func(text string) *Result {
		t.Helper()
		r, err := decodeQuery(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return r
	}
	if r := read(`{"status":"success","data":{"resultType":"scalar","result":[1,"2.5"]}}`); len(r.Series) != 1 || r.Series[0].Values[0] != 2.5 || r.Series[0].Times[0] != 1e6 {
		t.Errorf("%+v", r)
	}
	if r := read(`{"status":"success","data":{"resultType":"string","result":[1,"a\u001bb"]}}`); strings.Contains(r.Text, "\x1b") || !strings.HasPrefix(r.Text, "a") {
		t.Errorf("%q", r.Text)
	}
	if r := read(`{"warnings":["old"],"status":"success","data":{"result":[{"metric":{"z":"1","a":"<script>"},"values":[[1,"+Inf"],[2.0015,"NaN"]]}],"resultType":"matrix","stats":{"samples":{"totalQueryableSamples":7}}}}`); r.Samples != 7 || len(r.Notices) != 1 || r.Series[0].Labels[0].Value != "<script>" || r.Series[0].Times[1] != 2_002_000 && r.Series[0].Times[1] != 2_001_000 {
		t.Errorf("%+v", r)
	}
	if r := read(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1"}]}]}}`); len(r.Notices) != 1 {
		t.Errorf("%+v", r)
	}
	if r := read(`{"status":"success","isPartial":true,"data":{"resultType":"matrix","result":null},"warnings":null,"stats":{"seriesFetched":"0"}}`); len(r.Notices) != 1 || !strings.Contains(r.Notices[0], "only a part") {
		t.Errorf("%+v", r)
	}
	for _, text := range []string{`{"status":"success","data":{"resultType":"scalar","result":[1]}}`, `{"status":"success","data":{"resultType":"scalar","result":[1,2]}}`, `{"status":"success","data":{"resultType":"scalar","result":["1","2",3]}}`, `{"status":"weird"}`, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1e300,"1"]]}]}}`} {
		if r, err := decodeQuery(strings.NewReader(text)); err == nil {
			t.Errorf("%s is read as %+v", text, r)
		}
	}
}

func TestPodsHaveTheirWorkloads(t *testing.T) {
	of := regexp.MustCompile("^web" + suffix + "$")
	for pod, is := range map[string]bool{
		"web-0": true, "web-12": true, "web-7d9f8b6c54-x2kzq": true, "web-x2kzq": true, "web-29012345-x2kzq": true,
		"web": false, "web-api-7d9f8b6c54-x2kzq": false, "web-api-x2kzq": false, "web-api-0": false, "webx-0": false,
	} {
		if of.MatchString(pod) != is {
			t.Errorf("%s: %t", pod, !is)
		}
	}
}

func TestPodsOfWorkloads(t *testing.T) {
	for _, tc := range []struct {
		q    PanelsQuery
		want string
	}{
		{PanelsQuery{Level: levelCluster}, ""},
		{PanelsQuery{Level: levelPod, Namespace: "shop", Name: "web-1"}, `namespace="shop",pod=~"web-1"`},
		{PanelsQuery{Level: levelWorkload, Namespace: "shop", Name: "web.v2"}, `namespace="shop",pod=~"(web\\.v2)` + suffix + `"`},
		{PanelsQuery{Level: levelService, Namespace: "shop", Name: "web"}, `namespace="shop"`},
		{PanelsQuery{Level: levelService, Namespace: "shop", Name: "web", Workloads: []string{"a", "b"}}, `namespace="shop",pod=~"(a|b)` + suffix + `"`},
	} {
		if got, err := tc.q.podsOf(); err != nil || got != tc.want {
			t.Errorf("%+v: %s, %v", tc.q, got, err)
		}
	}
	for _, q := range []PanelsQuery{{Level: "node"}, {Level: levelPod, Namespace: `a"} or {b="`, Name: "x"}, {Level: levelPod, Namespace: "a", Name: `x"`}, {Level: levelCluster, Name: "x"}} {
		if got, err := q.podsOf(); err == nil {
			t.Errorf("%+v: %s", q, got)
		}
	}
}
