// Package picture draws the dashboards of deploy/dashboards as SVG, from metrics that
// were read from real hubs: a Recorder keeps what they served, Draw evaluates each
// panel's query with Prometheus' own engine and lays the panels out as Grafana does.
//
// It reads no hub itself and is no Grafana: of a dashboard's JSON it knows positions,
// titles, units, legends and the panels stat and timeseries. `dev dashboard-pictures`
// calls it; the pictures are for docs/dashboards.md.
package picture
