// Package victorialogs pins VictoriaLogs, a program that nothing can import, for the tests.
// test/stores/build.sh builds it. Nothing that ships imports it.
package victorialogs
