package observe

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/telemetry"
)

// FuzzAlerts decodes what a store sends as alerts and silences: whatever it is, what is kept is
// bounded, shows nothing of other namespaces, and has links that a person can be sent to.
func FuzzAlerts(f *testing.F) {
	f.Add(`[{"labels": {"alertname": "A", "namespace": "shop"}, "annotations": {"runbook_url": "https://example.com/"}, "status": {"silencedBy": ["x"]}}]`)
	f.Add(`{"status": "success", "data": {"alerts": [{"labels": {"alertname": "A", "namespace": "shop"}, "state": "firing", "activeAt": "2026-11-01T10:00:00Z"}]}}`)
	f.Add(`[{"id": "x", "endsAt": "2026-11-01T10:00:00Z", "comment": "c"}]`)
	f.Add(`[[[[[[`)
	f.Add(strings.Repeat(`{"labels":`, 1000))
	f.Fuzz(func(t *testing.T, text string) {
		shop := &Target{Source: Source{Name: "one", Type: telemetry.Alertmanager, NamespaceLabel: "namespace"}, Namespaces: Namespaces{Names: []string{"shop"}}}
		found := &Alerts{}
		_ = shop.decodeAlertmanagerAlerts(strings.NewReader(text), found)
		_ = shop.decodePrometheusAlerts(strings.NewReader(text), found)
		_ = decodeSilences(strings.NewReader(text), found)
		if len(found.Alerts) > maxAlerts {
			t.Fatalf("%d alerts", len(found.Alerts))
		}
		for _, a := range found.Alerts {
			if a.Namespace != "shop" {
				t.Errorf("an alert of namespace %q", a.Namespace)
			}
			if a.Runbook != SafeLink(a.Runbook) || a.Origin != SafeLink(a.Origin) {
				t.Errorf("links %q, %q", a.Runbook, a.Origin)
			}
			for _, text := range []string{a.Name, a.Summary, a.Description, a.Pod} {
				if strings.ContainsAny(text, "\n\r\x1b\x00") || len(text) > maxLabel+4 {
					t.Errorf("%q", text)
				}
			}
		}
	})
}
