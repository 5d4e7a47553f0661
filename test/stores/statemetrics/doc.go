// Package statemetrics pins kube-state-metrics for the tests; test/stores/build.sh builds it.
// Nothing that ships imports it.
package statemetrics
