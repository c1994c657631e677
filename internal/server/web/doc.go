// Package web speaks HTTP for a server: signs of life and metrics.
package web
