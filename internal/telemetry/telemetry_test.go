package telemetry

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
)

func TestPathsAndParametersAreAList(t *testing.T) {
	for _, tc := range []struct {
		of          Type
		path, query string
		code        errcode.Code
	}{
		{Prometheus, "/api/v1/query", "query=up&time=1", ""},
		{Prometheus, "/api/v1/query_range", "query=up&start=1&end=2&step=1", ""},
		{Prometheus, "/api/v1/series", "match%5B%5D=up&match%5B%5D=down", ""},
		{Prometheus, "/api/v1/label/namespace/values", "", ""},
		{Prometheus, "/api/v1/query", "query=up&query=down", errcode.Invalid},
		{Prometheus, "/api/v1/query", "query=up;down", errcode.Invalid},
		{Prometheus, "/api/v1/query", "query=%zz", errcode.Invalid},
		{Prometheus, "/api/v1/query", "query=" + strings.Repeat("a", MaxURI), errcode.Invalid},
		{Prometheus, "/api/v1/query", "query=up&extra_filters[]=x", errcode.Forbidden},
		{Prometheus, "/api/v1/query", "query=up&nocache=1", errcode.Forbidden},
		{Prometheus, "/api/v1/query/", "query=up", errcode.Forbidden},
		{Prometheus, "//api/v1/query", "query=up", errcode.Forbidden},
		{Prometheus, "/api//v1/query", "query=up", errcode.Forbidden},
		{Alertmanager, "/api/v2//alerts", "", errcode.Forbidden},
		{Prometheus, "/api/v1/query/../admin/tsdb/delete_series", "", errcode.Forbidden},
		{Prometheus, "/api/v1/label/../../x/values", "", errcode.Forbidden},
		{Prometheus, "/api/v1/label/a%2fb/values", "", errcode.Forbidden},
		{Prometheus, "/api/v1/admin/tsdb/delete_series", "match[]=up", errcode.Forbidden},
		{Prometheus, "/api/v1/write", "", errcode.Forbidden},
		{Prometheus, "/api/v1/read", "", errcode.Forbidden},
		{Prometheus, "/api/v1/status/config", "", errcode.Forbidden},
		{Prometheus, "/api/v1/targets", "", errcode.Forbidden},
		{Prometheus, "/api/v1/import", "", errcode.Forbidden},
		{Prometheus, "/api/v1/export", "", errcode.Forbidden},
		{Prometheus, "/-/quit", "", errcode.Forbidden},
		{Prometheus, "/federate", "match[]=up", errcode.Forbidden},
		{Prometheus, "", "", errcode.Forbidden},
		{Alertmanager, "/api/v2/alerts", "filter=a&filter=b", ""},
		{Alertmanager, "/api/v1/query", "", errcode.Forbidden},
		{VictoriaLogs, "/select/logsql/query", "query=*", ""},
		{VictoriaLogs, "/insert/jsonline", "", errcode.Forbidden},
		{VictoriaLogs, "/internal/force_flush", "", errcode.Forbidden},
		{Loki, "/loki/api/v1/query_range", "query=x", ""},
		{Loki, "/loki/api/v1/push", "", errcode.Forbidden},
		{Prometheus, "/api/v1/query", "query=x&extra_label=cluster%3Dx", errcode.Forbidden},
		{Prometheus, "/api/v1/series", "extra_filters%5B%5D=x", errcode.Forbidden},
		{Loki, "/loki/api/v1/delete", "", errcode.Forbidden},
		{"postgres", "/api/v1/query", "", errcode.Forbidden},
	} {
		_, err := tc.of.Check(tc.path, tc.query)
		if tc.code == "" && err != nil || tc.code != "" && !errcode.Is(err, tc.code) {
			t.Errorf("%s %.60s?%.60s: %v", tc.of, tc.path, tc.query, err)
		}
	}
	if follows, err := VictoriaLogs.Check("/select/logsql/tail", "query=*"); err != nil || !follows {
		t.Errorf("a tail: %t, %v", follows, err)
	}
	if got := (Service{Prometheus, "monitoring", "prometheus", "9090", "https", "/prom"}).ProxyPath("/api/v1/query"); got != "/api/v1/namespaces/monitoring/services/https:prometheus:9090/proxy/prom/api/v1/query" {
		t.Error(got)
	}
}
