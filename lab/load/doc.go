// Package load measures a server as its clients see it: how long the smallest statement takes, how
// many bytes of rows go each way in a second, and what many clients get that all ask at once.
//
// Every answer is checked.
package load
