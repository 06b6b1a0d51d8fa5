#include "handler.h"

int main(int argc, char **argv) { return chassis_run(argc, argv, &thumbnail); }
